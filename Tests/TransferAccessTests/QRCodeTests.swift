import CQREncode
import Glibc
import Testing
import TransferSystem

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

    @Test func aMissingLibraryIsNoCode() {
        #expect(throws: LibraryRefusal.absent) { try QRLibrary(path: "libnothing.so.0") }
    }

    @Test func libraryMakesCodes() throws {
        guard let library = QRLibrary.installed else { return print("skipped: libqrencode is not installed") }
        let link = "transfer://192.0.2.1:5288#code=pair_00000000_" + String(repeating: "0", count: 32) + ",key="
        // Version 6, 41 modules, has room for 134 bytes (ISO/IEC 18004, table 7).
        #expect(try #require(library.code(of: link + String(repeating: "A", count: 43))).columns == 41 + 8)
        #expect(library.code(of: "") == nil && library.code(of: "a\u{0}b") == nil)
        #expect(library.code(of: String(repeating: "a", count: 2_953)) != nil)
        #expect(library.code(of: String(repeating: "a", count: 2_954)) == nil)
    }

    @Test func otherVersionsAreNotUsed() {
        for version in [0, 3, 5] as [Int32] {
            expectUnfit(cqrencode_library(version: version, encode: { _, _, _ in nil }, free: { _ in }), "version")
        }
    }

    /// No code, another layout, and only light modules.
    @Test func librariesThatMakeNoCodesAreNotUsed() {
        expectUnfit(cqrencode_library(version: 4, encode: { _, _, _ in nil }, free: { _ in }), "17 characters")
        let wide = cqrencode_library(
            version: 4, encode: { _, _, _ in QRCodeTests.code(version: 1, width: .max) }, free: { free($0) })
        expectUnfit(wide, "17 characters")
        let light = cqrencode_library(
            version: 4, encode: { _, _, _ in QRCodeTests.code(version: 1, width: 21) }, free: { free($0) })
        expectUnfit(light, "17 characters")
    }

    /// The structure of libqrencode, with its modules behind it.
    private static func code(version: Int32, width: Int32) -> UnsafeMutableRawPointer? {
        guard let memory = calloc(1, 16 + 21 * 21) else { return nil }
        memory.storeBytes(of: version, as: Int32.self)
        memory.storeBytes(of: width, toByteOffset: 4, as: Int32.self)
        memory.storeBytes(of: memory + 16, toByteOffset: 8, as: UnsafeMutableRawPointer.self)
        return memory
    }

    private func expectUnfit(_ functions: cqrencode_library, _ words: String) {
        let refusal = #expect(throws: LibraryRefusal.self) { try QRLibrary(functions) }
        guard case .unfit(let reason)? = refusal else { return }
        #expect(reason.contains(words), "\(reason)")
    }
}
