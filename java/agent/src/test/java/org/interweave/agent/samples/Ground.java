package org.interweave.agent.samples;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;

/** A place for objects that allows everything, and keeps nothing. */
public final class Ground implements IW_Space, InvocationHandler {
  @Override
  public IW_Place allocate(IW_Object object, String name) {
    return (IW_Place) Proxy.newProxyInstance(
        Ground.class.getClassLoader(), new Class<?>[] {IW_Place.class}, this);
  }

  @Override
  public Object invoke(Object place, Method asked, Object[] arguments) {
    return null;
  }
}
