internal import TransferClient
internal import TransferModel
internal import TransferServer
internal import TransferPorts
internal import TransferStore

/// A type whose cases are the possible values of a flag.
protocol FlagChoice: CaseIterable, SendableMetatype {
    /// The case as typed on the command line.
    var flagValue: String { get }
}

extension FlagChoice {
    /// All cases as typed, in order.
    static var flagValues: [String] { allCases.map(\.flagValue) }
}

extension ClientConfiguration.Compression: FlagChoice {
    var flagValue: String { rawValue }
}

extension SyncOptions.ConflictChoice: FlagChoice {
    var flagValue: String { rawValue }
}

extension ContentKind: FlagChoice {
    var flagValue: String { name }
}

extension DigestFunction: FlagChoice {
    var flagValue: String {
        switch self {
        case .xxh128: "xxh128"
        case .sha256: "sha256"
        }
    }
}

extension Durability: FlagChoice {
    var flagValue: String {
        switch self {
        case .commit: "commit"
        case .none: "none"
        }
    }
}

extension ThumbnailUse: FlagChoice {
    var flagValue: String { rawValue }
}

extension HTTPUse: FlagChoice {
    var flagValue: String { rawValue }
}

extension ConflictPolicy: FlagChoice {
    var flagValue: String {
        switch self {
        case .keepBoth: "keep-both"
        case .overwrite: "overwrite"
        case .skip: "skip"
        case .fail: "fail"
        }
    }
}
