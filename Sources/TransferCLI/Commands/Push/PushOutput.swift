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

    init(_ arguments: ParsedArguments) {
        isJSON = arguments.isSet("json")
        isQuiet = arguments.isSet("quiet")
        func takes(_ name: String) -> Bool { arguments.command.flag(named: name) != nil }
        let wanted = takes("progress") ? arguments.choice("progress", as: ProgressStyle.self) : nil
        progress = (wanted ?? .auto).resolved(isQuiet: isQuiet)
        let colour = takes("color") ? arguments.choice("color", as: ColourChoice.self) : nil
        colours = ((colour ?? .auto).isOn(for: .output), (colour ?? .auto).isOn(for: .error))
    }

    /// Whether a line is drawn on standard error and drawn again.
    var showsProgress: Bool { progress == .bar }

    func hasColours(_ stream: StandardStream) -> Bool { stream == .output ? colours.output : colours.error }
}
