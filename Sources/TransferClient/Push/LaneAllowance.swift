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
    func lanes(after time: Interval, over link: LinkReading? = nil) -> Int {
        let lanes = time < Self.patience ? prompt : most
        guard !isChosen, let link, link.measuresBandwidth, link.leastRoundTrip >= Self.far.nanoseconds,
            link.heldByMemory < Self.mostHeld
        else { return lanes }
        return min(lanes, Self.mostMeasured)
    }
}

extension ClientConfiguration {
    /// Lanes that `auto` uses at most. Two for each core hide each other's waits; more were measured no faster on two
    /// cores, and on a single one a second lane made small files 4 % slower.
    private static let mostAutomaticLanes = 4

    /// - Parameter cores: of this machine.
    func laneAllowance(cores: Int = cores) -> LaneAllowance {
        switch lanes {
        case .auto:
            let most = cores == 1 ? 1 : Self.mostAutomaticLanes
            // To encrypt keeps a core busy: with more lanes than cores they only take turns.
            return LaneAllowance(most: most, prompt: security.isPlaintext ? most : min(most, cores))
        case .fixed(let count):
            let count = min(max(1, count), Self.mostLanes)
            return LaneAllowance(most: count, prompt: count, isChosen: true)
        }
    }
}

extension ClientConfiguration.Security {
    fileprivate var isPlaintext: Bool {
        if case .plaintext = self { true } else { false }
    }
}
