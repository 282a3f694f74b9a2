private import Glibc

/// What a push prints, and where.
struct PushOutput: Sendable {
    /// One JSON object a line on standard output instead of lines for people.
    let isJSON: Bool

    /// No lines for uploads that went well, no progress, no summary.
    let isQuiet: Bool

    /// How progress is shown on standard error.
    let progress: ProgressStyle

    /// Whether lines on standard output, or on standard error, have colours.
    private let colours: (output: Bool, error: Bool)

    /// - Parameters:
    ///   - json: the flags of the command; others it need not have.
    ///   - quiet: the same.
    init(_ arguments: ParsedArguments, json: FlagKey<Bool, Never>, quiet: FlagKey<Bool, Never>) {
        isJSON = arguments[json]
        isQuiet = arguments[quiet]
        progress = arguments[ClientFlags.progress, default: .auto].resolved(isQuiet: isQuiet)
        let colour = arguments[ClientFlags.colour, default: .auto]
        colours = (colour.isOn(for: .output), colour.isOn(for: .error))
    }

    /// Whether a line is drawn on standard error and drawn again.
    var showsProgress: Bool { progress == .bar }

    func hasColours(_ stream: StandardStream) -> Bool { stream == .output ? colours.output : colours.error }
}
