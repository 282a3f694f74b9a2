import Glibc
import Testing

/// A text in `Tests/golden` that the program must print. `TRANSFER_GOLDEN=write swift test --filter GoldenTests` writes
/// all of them again; the diff then shows what users will see.
struct GoldenText {
    private static let directory = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/golden"

    static let isWriting = getenv("TRANSFER_GOLDEN").map { String(cString: $0) } == "write"

    /// Path of the text, relative to `Tests/golden`.
    let name: String

    func check(_ text: String) throws {
        let path = "\(Self.directory)/\(name)"
        guard !Self.isWriting else { return try writeFile(path, text.utf8) }
        let golden = try String(decoding: readFile(path), as: UTF8.self)
        #expect(
            text == golden,
            "\(name) is another; if that is meant, run 'TRANSFER_GOLDEN=write swift test --filter GoldenTests'")
    }

    /// The names of all texts in a folder.
    static func names(in folder: String) -> [String] { files(below: "\(directory)/\(folder)") }
}
