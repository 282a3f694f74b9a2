import Testing
import TransferKeys
import TransferModel
import TransferTestSupport

@testable import TransferSealing

@Suite struct SealedNoteTests {
    private let sender: KeyPair
    private let tag: SealedTag

    init() throws {
        sender = try Sample.identity()
        tag = try SealingState(sealing: Sample.source([]), for: [Sample.key().recipient]).tag
    }

    private static func content(_ size: UInt64) -> SealedNote.Content {
        let algorithm = SealedNote.digestFunction.algorithm(forSize: size)
        return SealedNote.Content(size: size, digest: Digest(algorithm, Array(0x20..<0x40)))
    }

    private func note(_ path: String) throws -> SealedNote {
        SealedNote(
            try RelativePath(path), .picture, Self.content(12_345),
            modified: Timestamp(seconds: -5, nanoseconds: 999_999_999),
            permissions: 0o640, of: tag, by: sender)
    }

    private func sealed(_ note: SealedNote) throws -> [UInt8] { try note.sealed(for: [Sample.key().recipient]) }

    private static func opened(_ bytes: [UInt8]) throws(SealingError) -> SealedNote {
        try SealedNote(opening: bytes, with: [SealingKey(SecretBytes([UInt8](repeating: 0x42, count: 32)))])
    }

    @Test(arguments: ["a", "photos/2026/Überraschung.png", String(repeating: "a/", count: 100) + "b"] + OddNames.paths)
    func comesBack(_ path: String) throws {
        let note = try note(path)
        let again = try Self.opened(sealed(note))
        #expect(again == note && again.path.string.hasSameBytes(as: path) && again.sender == sender.key)
        #expect(again.kind == .picture && again.size == 12_345 && again.digest == note.digest && again.tag == tag)
        #expect(again.modified == Timestamp(seconds: -5, nanoseconds: 999_999_999) && again.permissions == 0o640)
    }

    /// A stream has neither time nor permissions. Its note is as long as any other.
    @Test func whatIsMissingStaysMissing() throws {
        let note = SealedNote(try RelativePath("a"), .text, Self.content(0), of: tag, by: sender)
        let again = try Self.opened(sealed(note))
        #expect(again == note && again.size == 0 && again.modified == nil && again.permissions == nil)
        #expect(try sealed(note).count == sealed(self.note("a")).count)
        let zeros = SealedNote(
            try RelativePath("a"), .text, Self.content(0), modified: Timestamp(seconds: 0, nanoseconds: 0),
            permissions: 0,
            of: tag, by: sender)
        let zerosAgain = try Self.opened(sealed(zeros))
        #expect(zerosAgain == zeros && zerosAgain != note && zerosAgain.size == 0 && zerosAgain.permissions == 0)
    }

    /// A note carries no set-uid bit, and no time that a clock cannot show.
    @Test func saysNothingThatCannotBe() throws {
        let note = SealedNote(
            try RelativePath("a"), .file, Self.content(1), modified: Timestamp(seconds: 1, nanoseconds: 1_000_000_000),
            permissions: 0o104755, of: tag, by: sender)
        #expect(note.modified == nil && note.permissions == 0o755)
        #expect(try Self.opened(sealed(note)) == note)
    }

    /// Signed details are refused if they are impossible, or have a second encoding.
    @Test(
        arguments: [
            (8, 1, 0, 0, 0), (6, 1, 0, 1_000_000_000, 0), (6, 1, 0, 0, 0o1000), (1, 1, 0, 0, 0), (4, 1, 1, 0, 0),
            (4, 1, 0, 1, 0), (2, 1, 0, 0, 1), (0, 1 << 63, 0, 0, 0),
        ] as [(UInt8, UInt64, UInt64, UInt32, UInt16)])
    func detailsHaveOneForm(
        _ presence: UInt8, _ size: UInt64, _ seconds: UInt64, _ nanoseconds: UInt32, _ permissions: UInt16
    ) throws {
        var fields: [UInt8] = [2, 0, presence]
        fields.append(bigEndian: size)
        fields.append(bigEndian: seconds)
        fields.append(bigEndian: nanoseconds)
        fields.append(bigEndian: permissions)
        #expect(throws: SealingError.malformed("The note has an impossible size, time or permissions of the content."))
        {
            try Self.opened(signed(fields, "a"))
        }
    }

    /// A note whose sender has signed any given bytes.
    private func signed(_ front: [UInt8], _ path: String) throws -> [UInt8] {
        var fields = front + [UInt8](repeating: 0, count: 32) + tag.digest.bytes + sender.key.raw.bytes
        fields.append(bigEndian: UInt16(path.utf8.count))
        fields += Array(path.utf8)
        let content = fields + sender.sign(Array("transfer sealed note v2\n".utf8) + fields)
        return try Sample.sealed(content + [UInt8](repeating: 0, count: SealedNote.block - content.count))
    }

    /// Content of any length: long content has a digest of block digests.
    @Test(arguments: [0, 1, 4 << 20, 4 << 20 + 1, Limits.uploadSize] as [UInt64]) func sizeTellsTheDigest(
        _ size: UInt64
    ) throws {
        let note = SealedNote(try RelativePath("a"), .file, Self.content(size), of: tag, by: sender)
        #expect(try Self.opened(sealed(note)) == note)
    }

    /// The length of a note does not reveal the length of a short path.
    @Test func lengthTellsNothing() throws {
        let sizes = try [1, 2, 100, 255].map { try sealed(note(String(repeating: "n", count: $0))).count }
        #expect(Set(sizes).count == 1)
        let deep = String(repeating: String(repeating: "d", count: 99) + "/", count: 3)
        #expect(try sealed(note(deep + String(repeating: "n", count: 25))).count == sizes[0])
        #expect(try sealed(note(deep + String(repeating: "n", count: 26))).count == sizes[0] + SealedNote.block)
    }

    @Test func longestPathHasRoom() throws {
        let path =
            String(repeating: String(repeating: "d", count: 255) + "/", count: 15) + String(repeating: "n", count: 255)
        #expect(path.utf8.count == Limits.path)
        let bytes = try sealed(note(path))
        #expect(bytes.count <= SealedNote.longest)
        #expect(try Self.opened(bytes).path.string == path)
    }

    @Test func isForItsRecipientsAlone() throws {
        let bytes = try sealed(note("a"))
        #expect(throws: SealingError.notForYou) { try SealedNote(opening: bytes, with: [Sample.key(1)]) }
        #expect(throws: SealingError.self) {
            try Self.opened(bytes + [UInt8](repeating: 0, count: SealedNote.longest))
        }
    }

    /// Anyone can seal for a known key, but only the sender can sign.
    @Test func everyByteOfItIsSigned() throws {
        let note = try note("name")
        let content = note.fields + note.signature
        let padding = [UInt8](repeating: 0, count: SealedNote.block - content.count)
        #expect(try Self.opened(Sample.sealed(content + padding)) == note)
        for index in content.indices {
            var changed = content
            changed[index] ^= 1
            #expect(throws: SealingError.self, "byte \(index)") { try Self.opened(Sample.sealed(changed + padding)) }
        }
    }

    @Test func hasOneForm() throws {
        let note = try note("name")
        let content = note.fields + note.signature
        let padding = [UInt8](repeating: 0, count: SealedNote.block - content.count)
        for wrong in [
            [], content, content + padding.dropLast() + [1], content + padding + [0],
            content + padding + [UInt8](repeating: 0, count: SealedNote.block), [1] + (content + padding).dropFirst(),
            [3] + (content + padding).dropFirst(),
            [UInt8](repeating: 0, count: SealedNote.longestContent + 1),
        ] {
            #expect(throws: SealingError.self) { try Self.opened(Sample.sealed(wrong)) }
        }
    }

    /// The reader checks a path, no matter who has signed it.
    @Test(arguments: ["../a", "/etc/a", "a/../b", "", "a\0", ".transfer/x"]) func pathsLeadNowhereElse(_ path: String)
        throws
    {
        var fields: [UInt8] = [2, 0, 0]
        fields.append(bigEndian: UInt64(5))
        fields += [UInt8](repeating: 0, count: 14)
        let bytes = try signed(fields, path)
        #expect(throws: SealingError.self) { try Self.opened(bytes) }
    }
}
