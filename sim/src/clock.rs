//! The clocks of the machines. Each is monotonic, and runs a little fast or slow. While its machine
//! is suspended, a clock may continue or stand still [FRESH-1].

/// From one moment on the clock runs as it says here.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    world_ns: u64,
    own_ns: u64,
    stands: bool,
}

const MILLION: u128 = 1_000_000;

/// A machine's clock.
#[derive(Debug, Clone)]
pub struct Clock {
    /// The clock counts this many nanoseconds in one millisecond of the world.
    rate: u128,
    stretches: Vec<Stretch>,
}

impl Clock {
    /// `ppm`: by so many millionths it is too fast. `own_ns`: what it shows at the beginning.
    pub fn new(ppm: i64, own_ns: u64) -> Clock {
        Clock {
            rate: MILLION.saturating_add_signed(ppm.into()),
            stretches: vec![Stretch {
                world_ns: 0,
                own_ns,
                stands: false,
            }],
        }
    }

    /// The time that it shows then.
    pub fn own(&self, world_ns: u64) -> u64 {
        let began = |stretch: &&Stretch| stretch.world_ns <= world_ns;
        let last = self.stretches.iter().rfind(began);
        let Some(last) = last.or(self.stretches.first()) else {
            return world_ns;
        };
        let since_ns = match last.stands {
            true => 0,
            false => u128::from(world_ns.saturating_sub(last.world_ns)) * self.rate / MILLION,
        };
        last.own_ns + since_ns as u64
    }

    /// The first moment at which it shows that time.
    pub fn world(&self, own_ns: u64) -> u64 {
        let began = |stretch: &&Stretch| stretch.own_ns < own_ns && !stretch.stands;
        let last = self.stretches.iter().rfind(began);
        let Some(last) = last.or(self.stretches.first()) else {
            return own_ns;
        };
        let since_ns = u128::from(own_ns.saturating_sub(last.own_ns)) * MILLION;
        last.world_ns + since_ns.div_ceil(self.rate) as u64
    }

    /// It stands still from then on, for so long.
    pub fn stand(&mut self, world_ns: u64, ns: u64) {
        let own_ns = self.own(world_ns);
        // An earlier standing still that has not ended becomes part of this one.
        self.stretches.retain(|stretch| stretch.world_ns < world_ns);
        self.stretches.push(Stretch {
            world_ns,
            own_ns,
            stands: true,
        });
        self.stretches.push(Stretch {
            world_ns: world_ns + ns,
            own_ns,
            stands: false,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_never_early_by_its_own_clock() {
        for ppm in [-40_000, -37, 0, 19, 40_000] {
            let mut clock = Clock::new(ppm, 12_345);
            clock.stand(7_000_003, 5_000_000);
            for own_ns in (12_345..20_000_000).step_by(70_001) {
                let world_ns = clock.world(own_ns);
                assert!(clock.own(world_ns) >= own_ns, "{ppm}, {own_ns}");
                assert!(clock.own(world_ns.saturating_sub(2)) <= own_ns);
            }
        }
    }

    #[test]
    fn while_it_stands_still_no_time_passes() {
        let mut clock = Clock::new(0, 0);
        clock.stand(100, 50);
        assert_eq!(
            [99, 100, 149, 160].map(|ns| clock.own(ns)),
            [99, 100, 100, 110]
        );
        assert_eq!([99, 100, 110].map(|ns| clock.world(ns)), [99, 100, 160]);
    }
}
