private import CLinux
private import Glibc

/// How the progress of a push is shown.
enum ProgressStyle: String, FlagChoice {
    /// A bar on a terminal, nothing elsewhere.
    case auto
    /// Lines at the bottom of a terminal that are drawn again and again.
    case bar
    /// A line now and then.
    case plain
    /// JSON objects.
    case json
    case none

    var flagValue: String { rawValue }

    /// What `auto` means here.
    func resolved(isQuiet: Bool) -> ProgressStyle {
        guard self == .auto else { return self }
        return !isQuiet && isatty(STDERR_FILENO) == 1 && !Terminal.isDumb ? .bar : .none
    }
}

/// Whether results have colours.
enum ColourChoice: String, FlagChoice {
    /// On a terminal that can, unless `NO_COLOR` is set (no-color.org).
    case auto
    case always
    case never

    var flagValue: String { rawValue }

    func isOn(for stream: StandardStream) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .auto: isatty(stream.rawValue) == 1 && !Terminal.isDumb && Environment.value(of: "NO_COLOR") == nil
        }
    }
}

/// What the environment says of the terminal.
enum Terminal {
    /// Whether it can do nothing but take lines.
    static var isDumb: Bool { getenv("TERM").map { String(cString: $0) == "dumb" } ?? true }

    /// How wide the terminal is that a stream leads to; nothing when it leads elsewhere, or the terminal doesn't tell.
    static func columns(of stream: StandardStream) -> Int? { size(of: stream)?.columns }

    /// The same with its rows, 0 where it doesn't tell them.
    static func size(of stream: StandardStream) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard clinux_terminal_size(stream.rawValue, &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
