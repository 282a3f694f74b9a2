import CLinux
import Glibc
import Testing
import TransferModel
import TransferSealing
import TransferTestSupport

@testable import TransferClient

@Suite struct SealedFileTests {
    private let sample: SealingSample

    init() throws {
        sample = try SealingSample()
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 700_000])
    func opensAgain(_ size: Int) throws {
        let content = randomBytes(size, seed: 1)
        let file = try sample.file(sample.write("a", content))
        let sealed = try file.open(0..<file.size).all()
        #expect(UInt64(sealed.count) == file.size)
        #expect(try SealingSample.opened(sealed, sample.bob) == content)
        #expect(try file.open(0..<file.size).all(777) == sealed)
    }

    /// Parts of the sealed file travel on several connections, and some are sent again; their bytes must not change.
    @Test func everyRangeHasTheSameBytes() throws {
        let file = try sample.file(sample.write("a", randomBytes(400_000, seed: 2)))
        let sealed = try file.open(0..<file.size).all()
        var random = SplitMix64(seed: 3)
        for _ in 0..<60 {
            let (one, other) = (
                Int.random(in: 0...sealed.count, using: &random), Int.random(in: 0...sealed.count, using: &random)
            )
            let range = min(one, other)..<max(one, other)
            let reader = try file.open(UInt64(range.lowerBound)..<UInt64(range.upperBound))
            #expect(try reader.all(50_000).elementsEqual(sealed[range]), "\(range)")
            #expect(reader.size == UInt64(range.count) && reader.attributes.modified == nil)
        }
    }

    /// The secrets of one content must never seal another.
    @Test(arguments: ["written to", "written to in secret", "longer", "shorter", "replaced", "gone"])
    func whatHasChangedIsGivenUp(_ change: String) throws {
        let path = try sample.write("a", randomBytes(300_000, seed: 4))
        let source = try sample.source(path)
        let place = SealingPlace(in: StateFolder(path: sample.home.path("own/sealing")), ["a"])
        let made = try SealingState(sealing: source.binding, for: [sample.bob.recipient])
        let state = try place.keep(made, source.binding, [sample.bob.recipient], replaces: false)
        let file = SealedFile(source, state, for: [sample.bob.recipient], place)
        _ = try file.open(0..<file.size).all()
        switch change {
        case "written to": try Files.write(path, randomBytes(300_000, seed: 5))
        case "written to in secret":
            let time = timespec(
                tv_sec: Int(source.file.modified.seconds), tv_nsec: Int(source.file.modified.nanoseconds))
            try Files.write(path, randomBytes(300_000, seed: 5))
            #expect(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
        case "longer": try Files.append(path, "x")
        case "shorter": #expect(truncate(path, 1) == 0)
        case "replaced":
            _ = try sample.write("b", randomBytes(300_000, seed: 4))
            #expect(rename(sample.home.path("b"), path) == 0)
        default: #expect(unlink(path) == 0)
        }
        let failure = #expect(throws: Failure.self) { try file.open(0..<file.size) }
        #expect(failure?.code == (change == "gone" ? .sourceUnreadable : .sourceChanged))
        #expect(place.exists == (change == "gone"))
    }

    /// No bytes that were read after the change are sealed.
    @Test func aChangeInTheMiddleIsSeenBeforeAnythingIsSealed() throws {
        let path = try sample.write("a", randomBytes(2 << 20, seed: 6))
        let place = SealingPlace(in: StateFolder(path: sample.home.path("own/sealing")), ["a"])
        let file = try sample.file(path, place)
        let whole = try file.open(0..<file.size).all()
        let reader = try file.open(0..<file.size)
        var buffer = [UInt8](repeating: 0, count: 100_000)
        let count = try buffer.withUnsafeMutableBytes { try reader.read(into: $0) }
        #expect(buffer[..<count].elementsEqual(whole[..<count]))
        let number = open(path, O_WRONLY)
        #expect(pwrite(number, "changed", 7, 1 << 20) == 7)
        close(number)
        var later: [UInt8] = []
        let failure = #expect(throws: Failure.self) {
            while case let count = try buffer.withUnsafeMutableBytes({ try reader.read(into: $0) }), count > 0 {
                later += buffer[..<count]
            }
        }
        #expect(failure?.code == .sourceChanged)
        #expect(whole[count...].starts(with: later) && later.count < 300_000)
    }

    /// A long write, or a write through a mapping, can change a file after its times were updated.
    @Test func aChangeThatNoTimeTellsIsSeen() throws {
        let path = try sample.write("a", randomBytes(300_000, seed: 7))
        let number = open(path, O_RDWR)
        defer { close(number) }
        let map = try #require(mmap(nil, 300_000, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0))
        defer { munmap(map, 300_000) }
        // Until the pages are written to disk, further changes to them do not update the file's times.
        for offset in [0, 200_000] { map.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self) }
        let place = SealingPlace(in: StateFolder(path: sample.home.path("own/sealing")), ["a"])
        let file = try sample.file(path, place)
        let whole = try file.open(0..<file.size).all()
        map.storeBytes(of: 2, toByteOffset: 200_000, as: UInt8.self)
        let reader = try file.open(0..<file.size)
        var sealed = [UInt8](repeating: 0, count: 400_000)
        let failure = #expect(throws: Failure.self) {
            try sealed.withUnsafeMutableBytes { _ = try reader.read(into: $0) }
        }
        #expect(failure?.code == .sourceChanged && !place.exists)
        #expect(whole.count > 300_000)
        #expect(try sample.source(path).binding != file.source.binding)
    }

    /// Two changes within one tick of the kernel's clock get equal times.
    @Test func aFileIsLookedAtWhenItHasComeToRest() throws {
        for round in 0..<20 {
            let path = try sample.write("a", [UInt8(round)])
            let first = try sample.source(path)
            _ = try sample.write("a", [UInt8(round + 100)])
            #expect(try sample.source(path).binding != first.binding)
        }
    }

    @Test func whatItIsIsSeenFromTheContent() throws {
        let text = try sample.source(sample.write("a", Array("some text\n".utf8)))
        #expect(text.kind == .text && text.permissions == 0o644)
        let path = try sample.write("b", [0, 1, 2, 255])
        #expect(try sample.source(path).kind == .file)
        #expect(try SealedSource(SourcePlace(named: path, followsLink: true), kind: .audio).kind == .audio)
    }
}
