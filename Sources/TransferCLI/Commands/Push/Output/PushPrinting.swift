internal import TransferClient
private import TransferModel

/// Decides which successes of a push are printed as text; failures always are, and with `--json` everything is.
struct PushPrinting: Sendable {
    private let isVerbose: Bool
    /// The operands of the command.
    private let named: Set<PathKey>

    init(_ arguments: ParsedArguments) {
        isVerbose = arguments[PushFlags.verbose]
        named = Set(arguments.operands.map { PathKey($0) })
    }

    /// Whether to print a success: changes and operands are printed. Files of a large tree that were already stored
    /// would hide them.
    func shows(_ report: UploadReport) -> Bool {
        isVerbose || report.result != .alreadyStored || named.contains(PathKey(report.source))
    }

    /// Whether to print folders that were already stored.
    var showsKnownFolders: Bool { isVerbose }
}
