import TransferModel

/// How many connections a push may have, as it goes on.
struct LaneAllowance: Equatable {
    /// In all.
    let most: Int

    /// Of these, those that may be opened at once.
    let prompt: Int

    /// What takes longer than this waits for the network rather than for cores.
    static let patience = Interval.seconds(2)

    /// - Parameter time: since the first one was opened.
    func lanes(after time: Interval) -> Int { time < Self.patience ? prompt : most }
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
            return LaneAllowance(most: count, prompt: count)
        }
    }
}

extension ClientConfiguration.Security {
    fileprivate var isPlaintext: Bool {
        if case .plaintext = self { true } else { false }
    }
}
