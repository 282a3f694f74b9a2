private import Glibc
internal import TransferClient
private import TransferModel

/// What a push prints, and where.
struct PushOutput: Sendable {
    /// One JSON object a line on standard output instead of lines for people.
    let isJSON: Bool

    /// No lines for uploads that went well, no progress, no summary.
    let isQuiet: Bool

    /// What travels for the command; the connections that do its work have it in their configuration.
    let traffic = Traffic()

    /// How progress is shown on standard error.
    let progress: ProgressStyle

    /// The folder of the remote that the command is about, which paths on the server are below; empty without one.
    private let folder: String

    /// Whether lines on standard output, or on standard error, have colours.
    private let colours: (output: Bool, error: Bool)

    /// - Parameters:
    ///   - json: the flags of the command; others it need not have.
    ///   - quiet: the same.
    init(_ arguments: ParsedArguments, json: FlagKey<Bool, Never>, quiet: FlagKey<Bool, Never>) {
        isJSON = arguments[json]
        isQuiet = arguments[quiet]
        progress = arguments[ClientFlags.progress, default: .auto].resolved(isQuiet: isQuiet)
        folder = arguments.remote?.address.folder ?? ""
        let colour = arguments[ClientFlags.colour, default: .auto]
        colours = (colour.isOn(for: .output), colour.isOn(for: .error))
    }

    /// Whether a line is drawn on standard error and drawn again.
    var showsProgress: Bool { progress == .bar }

    /// A path on the server as it is shown: as it is given back to the same remote, or without one to the same server.
    func shown(_ path: String) -> String {
        guard !folder.isEmpty else { return path }
        guard !path.hasSameBytes(as: folder) else { return "" }
        let prefix = "\(folder)/"
        return path.utf8.starts(with: prefix.utf8) ? String(Substring(path.utf8.dropFirst(prefix.utf8.count))) : path
    }

    func hasColours(_ stream: StandardStream) -> Bool { stream == .output ? colours.output : colours.error }
}
