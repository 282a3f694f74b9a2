private import Glibc
internal import TransferClient
private import TransferModel

/// The output options of a command that transfers files.
struct PushOutput: Sendable {
    /// Print one JSON object per line on standard output instead of text.
    let isJSON: Bool

    /// Print no lines for successes, no progress and no summary.
    let isQuiet: Bool

    /// Counts the bytes that the command transfers; its connections share it through their configuration.
    let traffic = Traffic()

    /// How progress is shown on standard error.
    let progress: ProgressStyle

    /// The folder of the command's remote, which is removed from shown paths; empty without one.
    private let folder: String

    /// Whether lines on standard output and on standard error are coloured.
    private let colours: (output: Bool, error: Bool)

    /// - Parameters:
    ///   - json: the command's flag for JSON. The command need not have the flags for progress and colours.
    ///   - quiet: the command's flag for less output.
    init(_ arguments: ParsedArguments, json: FlagKey<Bool, Never>, quiet: FlagKey<Bool, Never>) {
        isJSON = arguments[json]
        isQuiet = arguments[quiet]
        progress = arguments[ClientFlags.progress, default: .auto].resolved(isQuiet: isQuiet)
        folder = arguments.remote?.address.folder ?? ""
        let colour = arguments[ClientFlags.colour, default: .auto]
        colours = (colour.isOn(for: .output), colour.isOn(for: .error))
    }

    /// Whether progress is drawn on the terminal.
    var showsProgress: Bool { progress == .bar }

    /// A path on the server, as the user would write it for the same remote.
    func shown(_ path: String) -> String {
        guard !folder.isEmpty else { return path }
        guard !path.hasSameBytes(as: folder) else { return "" }
        let prefix = "\(folder)/"
        return path.utf8.starts(with: prefix.utf8) ? String(Substring(path.utf8.dropFirst(prefix.utf8.count))) : path
    }

    func hasColours(_ stream: StandardStream) -> Bool { stream == .output ? colours.output : colours.error }
}
