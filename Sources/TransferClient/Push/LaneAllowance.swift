import TransferIO
import TransferModel

/// How many connections a push may have, as it goes on.
struct LaneAllowance: Equatable {
    /// In all.
    let most: Int

    /// Of these, those that may be opened at once.
    let prompt: Int

    /// Whether somebody has said how many they are.
    var isChosen = false

    /// In all over a line where losses hold each of them down.
    var mostOverLosses = LossGovernor.most

    /// What takes longer than this waits for the network rather than for cores.
    static let patience = Interval.seconds(2)

    /// Of a link that is measured: over 100 Mbit/s and 80 ms one carries what the line does, and over 50 Mbit/s and 600 ms two are
    /// a quarter faster than one. Four were a tenth faster only there, and elsewhere slower, over 20 Mbit/s and 150 ms with 1 %
    /// loss by a fifth and more: those that come last find no room and finish last.
    private static let mostMeasured = 2

    /// Where the way there and back takes longer than this, the line is what a push waits for.
    private static let far = Interval.milliseconds(5)

    /// The share of time that memory holds a connection back above which another one helps: what one may have under way is bounded
    /// by both kernels (`tcp_rmem` and `tcp_wmem` of tcp(7)).
    private static let mostHeld = 0.25

    /// - Parameters:
    ///   - time: since the first one was opened.
    ///   - link: of that one; nothing where that is not known.
    ///   - governed: as many as losses ask for, where they are looked at.
    func lanes(after time: Interval, over link: LinkReading? = nil, governed: Int? = nil) -> Int {
        let lanes = time < Self.patience ? prompt : most
        guard !isChosen, let link, isFar(link) else { return lanes }
        if let governed, governed > LossGovernor.fewest { return governed }
        guard link.heldByMemory < Self.mostHeld else { return lanes }
        return link.measuresBandwidth ? min(lanes, Self.mostMeasured) : governed ?? lanes
    }

    /// Whether losses say how many lanes there may be.
    func isGoverned(over link: LinkReading) -> Bool {
        !isChosen && isFar(link) && !link.measuresBandwidth
    }

    /// Whether the line is what a push waits for.
    func isFar(_ link: LinkReading) -> Bool { link.leastRoundTrip >= Self.far.nanoseconds }
}

extension ClientConfiguration {
    /// Lanes that `auto` uses at most. Two for each core hide each other's waits; more were measured no faster on two
    /// cores, and on a single one a second lane made small files 4 % slower.
    private static let mostAutomaticLanes = 4

    /// Bytes a second that each lane must be able to send: what servers want by default, so that none is taken for dead.
    private static let leastLaneBandwidth: UInt64 = 1 << 10

    /// Lanes that the rate which is to be held is enough for.
    private var mostLanesByBandwidth: Int {
        guard let bandwidth else { return Self.mostLanes }
        return Int(min(max(bandwidth, Self.leastBandwidth) / Self.leastLaneBandwidth, UInt64(Self.mostLanes)))
    }

    /// - Parameter cores: of this machine.
    func laneAllowance(cores: Int = cores) -> LaneAllowance {
        switch lanes {
        case .auto:
            let most = cores == 1 ? 1 : Self.mostAutomaticLanes
            // To encrypt keeps a core busy: with more lanes than cores they only take turns.
            var allowance = LaneAllowance(most: most, prompt: security.isPlaintext ? most : min(most, cores))
            allowance.mostOverLosses = min(LossGovernor.most, mostLanesByBandwidth)
            return allowance
        case .fixed(let count):
            let count = min(max(1, count), mostLanesByBandwidth)
            return LaneAllowance(most: count, prompt: count, isChosen: true)
        }
    }
}

extension ClientConfiguration.Security {
    fileprivate var isPlaintext: Bool {
        if case .plaintext = self { true } else { false }
    }
}
