import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct JournalLineTests {
    private static let file = KnownFiles.File(size: 51_452, modified: Timestamp(seconds: 1_700_000_000, nanoseconds: 7))

    private func read(_ line: [UInt8]) -> (path: PathKey, file: KnownFiles.File)? { JournalLine.read(line.dropLast()) }

    @Test func isOneLineOfText() {
        let line = String(decoding: JournalLine.write(PathKey("sub/photo 1.jpg"), Self.file), as: UTF8.self)
        #expect(line.dropFirst(8) == " 51452 1700000000 7 sub/photo 1.jpg\n")
        #expect(line.prefix(8).allSatisfy { $0.isHexDigit })
    }

    @Test(arguments: ["a b  c ", "\n\\\n", "deep/er/est"] + OddNames.paths)
    func everyNameComesBack(_ name: String) throws {
        let line = JournalLine.write(PathKey(name), Self.file)
        #expect(line.filter { $0 == UInt8(ascii: "\n") }.count == 1)
        let back = try #require(read(line))
        #expect(back.path == PathKey(name) && back.file == Self.file)
    }

    @Test(arguments: [
        KnownFiles.File(size: 0, modified: Timestamp(seconds: 0, nanoseconds: 0)),
        KnownFiles.File(size: .max, modified: Timestamp(seconds: .max, nanoseconds: 999_999_999)),
        KnownFiles.File(size: 1, modified: Timestamp(seconds: .min, nanoseconds: 1)),
    ])
    func everyFileComesBack(_ file: KnownFiles.File) throws {
        #expect(try #require(read(JournalLine.write(PathKey("a"), file))).file == file)
    }

    @Test func whatIsTornIsNoLine() {
        let line = JournalLine.write(PathKey("sub/photo.jpg"), Self.file)
        for count in 0..<line.count - 1 { #expect(JournalLine.read(line[..<count]) == nil) }
    }

    @Test func whatIsDamagedIsNoLine() {
        let line = JournalLine.write(PathKey("sub/photo.jpg"), Self.file)
        for place in 0..<line.count - 1 {
            for bit in 0..<8 {
                var damaged = line
                damaged[place] ^= 1 << bit
                // A digit of the checksum in upper case is refused, too.
                #expect(read(damaged) == nil, "bit \(bit) of \(place)")
            }
        }
    }

    @Test(arguments: 0..<200 as Range<UInt64>) func noiseIsNoLine(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        #expect(JournalLine.read(generator.bytes(Int(seed))[...]) == nil)
    }
}
