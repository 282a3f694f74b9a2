import Testing
import TransferClassic
import TransferModel

@Suite struct ClassicNameTests {
    /// The last nanosecond of 2026-11-22 10:15:00.
    private static let time = Timestamp(seconds: 1_795_342_500, nanoseconds: 999_999_999)

    @Test func made() {
        #expect(
            ClassicName.made(kind: .picture, time: Self.time, mark: 0x7F3A, format: .png)
                == "picture-20261122-101500-7f3a.png")
        #expect(
            ClassicName.made(
                kind: .text, time: Timestamp(seconds: 0, nanoseconds: 0), sender: "alice", mark: 0, format: .text)
                == "text-19700101-000000-alice-0000.txt")
        #expect(
            ClassicName.made(kind: .file, time: Self.time, mark: .max, format: .binary)
                == "file-20261122-101500-ffffffff.bin")
    }

    @Test(arguments: [
        ("a/../b", "-ab"), ("/etc\0\u{1B}\n", "-etc"), ("小明", ""), ("", ""), ("A_9-z", "-A_9-z"), ("..", ""),
        ("é e\u{301}", "-e"), (String(repeating: "x", count: 99), "-" + String(repeating: "x", count: 32)),
    ])
    func sendersInNames(_ sender: String, _ part: String) throws {
        let name = ClassicName.made(kind: .audio, time: Self.time, sender: sender, mark: 1, format: .mp3)
        #expect(name == "audio-20261122-101500\(part)-0001.mp3")
        #expect(ClassicName.told(Array(name.utf8))?.string == name)
    }

    @Test(arguments: [Int64.min, -62_167_219_201, 253_402_300_800, .max]) func anyTimeMakesAName(_ seconds: Int64) {
        let time = Timestamp(seconds: seconds, nanoseconds: 0)
        let name = ClassicName.made(kind: .location, time: time, mark: 1, format: .geoJSON)
        #expect(ClassicName.told(Array(name.utf8)) != nil)
    }

    @Test(arguments: [
        "a", "photo 1.png", "写真😀.jpg", "e\u{301}", ".hidden", "a..b", "...", String(repeating: "n", count: 255),
    ])
    func told(_ name: String) {
        #expect(ClassicName.told(Array(name.utf8))?.string.utf8.elementsEqual(name.utf8) == true)
    }

    @Test(arguments: [
        "", ".", "..", "/", "a/b", "/a", "a/", "a\\b", "..\\a", "a\0", "\u{1B}[2J", "a\nb", "\u{7F}", "\u{9B}1m",
        ".transfer",
        ".TRANSFER", ".transfer-parts", "a/\u{301}b", String(repeating: "n", count: 256),
    ])
    func refused(_ name: String) { #expect(ClassicName.told(Array(name.utf8)) == nil) }

    @Test func whatIsNotUTF8() {
        #expect(ClassicName.told([0x67, 0x72, 0xFC, 0xDF]) == nil)
        #expect(ClassicName.told([0xED, 0xA0, 0x80]) == nil)
    }
}
