import TransferIO
import TransferModel

/// How many connections a push may have, depending on the time since it began and on the line.
struct LaneAllowance: Equatable {
    /// The most lanes in all.
    let most: Int

    /// The number of lanes that may be opened before `patience` has passed.
    let prompt: Int

    /// Whether the user has chosen the number of lanes.
    var isChosen = false

    /// The most lanes over a line where losses hold each lane down.
    var mostOverLosses = LossGovernor.most

    /// A push that lasts longer than this waits for the network rather than for cores.
    static let patience = Interval.seconds(2)

    /// The most lanes over a line whose bandwidth TCP measures. In tests over 100 Mbit/s and 80 ms, one lane filled the
    /// line; over 50 Mbit/s and 600 ms, two were a quarter faster than one. Four were a tenth faster only there.
    /// Elsewhere they were slower, over 20 Mbit/s and 150 ms with 1 % loss by a fifth and more: the last lanes find no
    /// room and finish last.
    private static let mostMeasured = 2

    /// With a round trip of at least this length, the line limits a push, and not a core.
    private static let far = Interval.milliseconds(5)

    /// If memory holds a connection back for at least this share of the time, another lane helps: both kernels limit
    /// the bytes under way of one connection (`tcp_rmem` and `tcp_wmem` of tcp(7)).
    private static let mostHeld = 0.25

    /// - Parameters:
    ///   - time: the time since the first lane was opened.
    ///   - link: TCP's measurements of the first lane; nil if unknown.
    ///   - governed: the number that `LossGovernor` wants; nil if it does not decide.
    func lanes(after time: Interval, over link: LinkReading? = nil, governed: Int? = nil) -> Int {
        let lanes = time < Self.patience ? prompt : most
        guard !isChosen, let link, isFar(link) else { return lanes }
        if let governed, governed > LossGovernor.fewest { return governed }
        guard link.heldByMemory < Self.mostHeld else { return lanes }
        return link.measuresBandwidth ? min(lanes, Self.mostMeasured) : governed ?? lanes
    }

    /// Whether `LossGovernor` decides about the number of lanes.
    func isGoverned(over link: LinkReading) -> Bool {
        !isChosen && isFar(link) && !link.measuresBandwidth
    }

    /// Whether the server is so distant that the line limits a push.
    func isFar(_ link: LinkReading) -> Bool { link.leastRoundTrip >= Self.far.nanoseconds }
}

extension ClientConfiguration {
    /// The most lanes that `auto` uses. Two for each core hide each other's waits; more were measured no faster on two
    /// cores, and on a single one a second lane made small files 4 % slower.
    private static let mostAutomaticLanes = 4

    /// The bytes a second that each lane must be able to send: servers require this rate by default, and regard a
    /// slower lane as dead.
    private static let leastLaneBandwidth: UInt64 = 1 << 10

    /// The number of lanes for which `bandwidth` is enough.
    private var mostLanesByBandwidth: Int {
        guard let bandwidth else { return Self.mostLanes }
        return Int(min(max(bandwidth, Self.leastBandwidth) / Self.leastLaneBandwidth, UInt64(Self.mostLanes)))
    }

    /// - Parameter cores: the cores of this machine.
    func laneAllowance(cores: Int = cores) -> LaneAllowance {
        switch lanes {
        case .auto:
            let most = cores == 1 ? 1 : Self.mostAutomaticLanes
            // Encryption keeps a core busy, so more lanes than cores would only take turns.
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
