# Sets CLUSTER_LIBRARY to the cluster's library: its target in the tree, alone this machine's
# installed one, else nothing.
set(CLUSTER_LIBRARY "")
if(TARGET interweave_cluster)
  set(CLUSTER_LIBRARY interweave_cluster)
elseif(NOT CMAKE_CROSSCOMPILING)
  find_package(interweave-cluster QUIET)
  if(interweave-cluster_FOUND)
    set(CLUSTER_LIBRARY interweave::cluster)
  endif()
endif()
if(NOT CLUSTER_LIBRARY)
  message(STATUS "examples: no cluster library: grid and services left out")
endif()
