internal import TransferClient
private import TransferModel

/// Decides which successes of a push are printed as text. Failures are always printed, and with `--json` all results
/// are.
struct PushPrinting: Sendable {
    private let isVerbose: Bool
    /// The operands of the command.
    private let named: Set<PathKey>

    init(_ arguments: ParsedArguments) {
        isVerbose = arguments[PushFlags.verbose]
        named = Set(arguments.operands.map { PathKey($0) })
    }

    /// Whether to print a success: uploads that changed something and operands are printed. The files of a large tree
    /// that were already stored would hide them.
    func shows(_ report: UploadReport) -> Bool {
        isVerbose || report.result != .alreadyStored || named.contains(PathKey(report.source))
    }

    /// Whether to print folders that were already stored.
    var showsKnownFolders: Bool { isVerbose }
}
