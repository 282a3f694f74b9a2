/// A QR code: a square of dark and light modules.
package struct QRCode: Equatable, Sendable {
    /// Number of modules in a row.
    let width: Int

    /// Whether each module is dark, row by row.
    private let modules: [Bool]

    /// Number of light modules around the code that a camera needs: four (ISO/IEC 18004, section 6.3.8).
    private static let quietZone = 4

    /// Black on white, whatever the terminal's colours are, because cameras cannot read inverted codes. Both colours
    /// are from the palette of 256 colours; themes change only the first 16 of them.
    private static let colours = "\u{1B}[38;5;16;48;5;231m"
    private static let reset = "\u{1B}[0m"

    /// - Returns: nil if the modules are not a square of this width.
    init?(width: Int, modules: [Bool]) {
        guard width > 0, modules.count == width * width else { return nil }
        (self.width, self.modules) = (width, modules)
    }

    /// Makes the code of a text; nil if libqrencode is not installed or the text is too long.
    package init?(_ text: String) {
        guard let code = QRLibrary.installed?.code(of: text) else { return nil }
        self = code
    }

    /// Number of terminal columns that the code needs.
    package var columns: Int { width + 2 * Self.quietZone }

    /// The lines that draw the code. Each draws two rows of modules as half blocks.
    package var lines: [String] {
        stride(from: -Self.quietZone, to: width + Self.quietZone, by: 2).map { row in
            let cells = (-Self.quietZone..<width + Self.quietZone).map { column -> String in
                switch (isDark(row, column), isDark(row + 1, column)) {
                case (false, false): " "
                case (true, false): "▀"
                case (false, true): "▄"
                case (true, true): "█"
                }
            }
            return Self.colours + cells.joined() + Self.reset
        }
    }

    /// Whether three corners have the finder pattern, a square in a ring (ISO/IEC 18004, section 6.3.3).
    var hasFinders: Bool {
        [(0, 0), (0, width - 7), (width - 7, 0)].allSatisfy { top, left in
            (-1...7).allSatisfy { row in
                (-1...7).allSatisfy { column in
                    let distance = max(abs(row - 3), abs(column - 3))
                    return isDark(top + row, left + column) == (distance == 3 || distance < 2)
                }
            }
        }
    }

    /// Whether dark and light modules alternate in the timing patterns, which connect the corners in a row and in a
    /// column (section 6.3.5).
    var hasTiming: Bool {
        (8..<max(8, width - 8)).allSatisfy { isDark(6, $0) == ($0 % 2 == 0) && isDark($0, 6) == ($0 % 2 == 0) }
    }

    /// Whether a module is dark; those outside the code are light.
    private func isDark(_ row: Int, _ column: Int) -> Bool {
        (0..<width).contains(row) && (0..<width).contains(column) && modules[row * width + column]
    }
}
