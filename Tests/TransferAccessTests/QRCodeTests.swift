import Testing

@testable import TransferAccess

@Suite struct QRCodeTests {
    @Test func twoRowsToALine() throws {
        let code = try #require(QRCode(width: 3, modules: [true, true, false, true, false, true, false, true, false]))
        let lines = code.lines.map { line in
            line.unicodeScalars.filter { $0 == " " || "▀▄█".unicodeScalars.contains($0) }
        }
        let blank = String(repeating: " ", count: 11)
        #expect(
            lines.map { String(String.UnicodeScalarView($0)) } == [
                blank, blank, "    █▀▄    ", "     ▀     ", blank, blank,
            ])
        #expect(code.columns == 11)
        #expect(code.lines.allSatisfy { $0.hasPrefix("\u{1B}[38;5;16;48;5;231m") && $0.hasSuffix("\u{1B}[0m") })
    }

    @Test func onlySquares() {
        #expect(QRCode(width: 2, modules: [true]) == nil && QRCode(width: 0, modules: []) == nil)
    }

    @Test func aMissingLibraryIsNoCode() { #expect(QRLibrary(path: "libnothing.so.0") == nil) }

    @Test func libraryMakesCodes() throws {
        guard let library = QRLibrary.installed else { return print("skipped: libqrencode is not installed") }
        let link = "transfer://192.0.2.1:5288#code=pair_00000000_" + String(repeating: "0", count: 32) + ",key="
        // Version 6, 41 modules, has room for 134 bytes (ISO/IEC 18004, table 7).
        #expect(try #require(library.code(of: link + String(repeating: "A", count: 43))).columns == 41 + 8)
        #expect(library.code(of: "") == nil && library.code(of: "a\u{0}b") == nil)
        #expect(library.code(of: String(repeating: "a", count: 2_953)) != nil)
        #expect(library.code(of: String(repeating: "a", count: 2_954)) == nil)
    }
}
