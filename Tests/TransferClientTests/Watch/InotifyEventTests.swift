import Glibc
import Testing
import TransferTestSupport

@testable import TransferClient

@Suite struct InotifyEventTests {
    /// Encodes an event as the kernel does (inotify(7)), with zeros behind the name.
    private static func event(_ watch: Int32, _ mask: Int32, _ name: String = "", padding: Int = 0) -> [UInt8] {
        let text = Array(name.utf8) + [UInt8](repeating: 0, count: name.isEmpty ? 0 : 1 + padding)
        var bytes: [UInt8] = []
        for word in [UInt32(bitPattern: watch), UInt32(bitPattern: mask), 0, UInt32(text.count)] {
            withUnsafeBytes(of: word) { bytes += Array($0) }
        }
        return bytes + text
    }

    private func parse(_ bytes: [UInt8]) -> [InotifyEvent] {
        bytes.withUnsafeBytes { InotifyEvent.parse($0) }
    }

    private static let directory = Int32(bitPattern: UInt32(IN_ISDIR))
    private static let a = Array("a".utf8)

    @Test(arguments: [
        (Int32(IN_CLOSE_WRITE), InotifyEvent.entry(watch: 1, .complete, isDirectory: false, name: a)),
        (Int32(IN_MOVED_TO), .entry(watch: 1, .complete, isDirectory: false, name: a)),
        (Int32(IN_MOVED_FROM), .entry(watch: 1, .movedAway, isDirectory: false, name: a)),
        (Int32(IN_CREATE), .entry(watch: 1, .created, isDirectory: false, name: a)),
        (Int32(IN_CREATE) | directory, .entry(watch: 1, .created, isDirectory: true, name: a)),
        (Int32(IN_MOVED_TO) | directory, .entry(watch: 1, .complete, isDirectory: true, name: a)),
        (Int32(IN_Q_OVERFLOW), .overflow),
        (Int32(IN_IGNORED), .ended(watch: 1)),
        (Int32(IN_UNMOUNT), .directoryLost(watch: 1)),
        (Int32(IN_DELETE_SELF), .directoryLost(watch: 1)),
        (Int32(IN_MOVE_SELF), .directoryLost(watch: 1)),
    ])
    func says(_ mask: Int32, _ event: InotifyEvent) {
        #expect(parse(Self.event(1, mask, "a", padding: 14)) == [event])
    }

    @Test func manyInOneRead() {
        let bytes =
            Self.event(1, Int32(IN_CREATE), "a") + Self.event(-1, Int32(IN_Q_OVERFLOW))
            + Self.event(2, Int32(IN_OPEN), "b") + Self.event(2, Int32(IN_CLOSE_WRITE), "b", padding: 3)
        #expect(
            parse(bytes) == [
                .entry(watch: 1, .created, isDirectory: false, name: Self.a), .overflow,
                .entry(watch: 2, .complete, isDirectory: false, name: Array("b".utf8)),
            ])
        // A truncated event is dropped, and no byte behind the buffer is read.
        for count in 0..<bytes.count { #expect(parse(Array(bytes[..<count])).count < 3) }
    }

    /// An event without a name is about the directory itself and ignored; invalid lengths and noise do not trap.
    @Test func odditiesAreNoTrap() {
        #expect(parse(Self.event(1, Int32(IN_CLOSE_WRITE))) == [])
        var long = Self.event(1, Int32(IN_CREATE), "a")
        long.replaceSubrange(12..<16, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(parse(long) == [])
        var generator = SplitMix64(seed: 1)
        for count in 0..<300 { _ = parse(generator.bytes(count)) }
    }
}
