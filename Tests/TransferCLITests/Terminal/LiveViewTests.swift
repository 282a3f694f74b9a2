import Testing

@testable import TransferCLI

/// The drawings, as a terminal would show them.
@Suite struct LiveViewTests {
    private static func lines(_ count: Int, width: Int) -> [String] {
        (0..<count).map { "\($0)" + String(repeating: "x", count: width - 1) }
    }

    /// Each drawing replaces the one before, whatever its lines and however wide the terminal is now.
    @Test(arguments: [(1, 1), (1, 5), (2, 2), (5, 1), (5, 2), (5, 5)], [20, 40, 60, 200])
    func replaces(_ lines: (before: Int, after: Int), _ columns: Int) {
        let (before, after) = lines
        var screen = TerminalScreen(columns: 100)
        screen.write("a result\n")
        var canvas = TerminalCanvas()
        screen.write(canvas.draw(Self.lines(before, width: 90), columns: 100))
        #expect(screen.text == ["a result"] + Self.lines(before, width: 90))
        screen.resize(columns: columns)
        screen.write(canvas.draw(Self.lines(after, width: 15), columns: columns))
        #expect(screen.text == ["a result"] + Self.lines(after, width: 15))
        screen.write(canvas.clear(columns: columns))
        #expect(screen.text == ["a result"])
        screen.write("another\n")
        #expect(screen.text == ["a result", "another"] && screen.unknown.isEmpty)
        let nothing = canvas.clear(columns: columns)
        #expect(nothing == "")
    }
}
