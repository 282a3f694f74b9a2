internal import TransferClient
private import TransferModel

/// Which results of a push are printed for people; failures are always, and with `--json` all are.
struct PushPrinting: Sendable {
    private let isVerbose: Bool
    /// What the command line names.
    private let named: Set<PathKey>

    init(_ arguments: ParsedArguments) {
        isVerbose = arguments[PushFlags.verbose]
        named = Set(arguments.operands.map { PathKey($0) })
    }

    /// Whether a success is told: a change is, and so is what somebody has asked for by its name. The rest of a large tree, which
    /// was there already, would hide these.
    func shows(_ report: UploadReport) -> Bool {
        isVerbose || report.result != .alreadyStored || named.contains(PathKey(report.source))
    }

    /// Whether it is told that a folder was there already.
    var showsKnownFolders: Bool { isVerbose }
}
