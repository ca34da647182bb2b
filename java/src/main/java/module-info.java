/** The InterWeave client in pure Java. Only what is exported is for programs. */
module org.interweave {
  requires static jdk.jfr;

  exports org.interweave;
  exports org.interweave.client;
}
