import CLinux
import Glibc
import Testing
import TransferKeys
import TransferModel
import TransferSealing
import TransferTestSupport

@testable import TransferClient

@Suite struct SealingPlaceTests {
    private let sample: SealingSample
    private let folder: String
    private let place: SealingPlace
    private let path: String

    init() throws {
        sample = try SealingSample()
        folder = sample.home.path("own/sealing")
        place = SealingPlace(in: StateFolder(path: folder), ["server", "bob", "/a"])
        path = try sample.write("a", Array("content".utf8))
    }

    private var recipients: [SealingRecipient] { [sample.bob.recipient] }

    private func keep(_ source: SealedSource) throws -> SealingState {
        let state = try SealingState(sealing: source.binding, for: recipients)
        return try place.keep(state, source.binding, recipients, replaces: false)
    }

    private func state(_ source: SealedSource) throws -> SealingState? {
        guard case .state(let state)? = try place.find(source.binding, recipients) else { return nil }
        return state
    }

    @Test func secretsAreFoundAgain() throws {
        let source = try sample.source(path)
        #expect(try place.find(source.binding, recipients) == nil && !place.exists)
        let kept = try keep(source)
        #expect(try state(source)?.header == kept.header && state(source)?.tag == kept.tag)
        // A second caller receives the secrets of the first.
        #expect(try keep(source).tag == kept.tag)
        place.remove()
        #expect(try state(source) == nil)
    }

    @Test func onlyTheirOwnerCanReadThem() throws {
        _ = try keep(sample.source(path))
        var status = stat()
        #expect(stat(place.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(stat(folder, &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(chmod(place.path, 0o644) == 0)
        #expect(try state(sample.source(path)) == nil)
    }

    @Test func theyAreForOneContentAndOneSetOfPeople() throws {
        let source = try sample.source(path)
        _ = try keep(source)
        #expect(try place.find(source.binding, recipients + [SealingKey().recipient]) == nil)
        _ = try sample.write("a", Array("CONTENT".utf8))
        let changed = try sample.source(path)
        #expect(try place.find(changed.binding, recipients) == nil && place.exists)
        let state = try SealingState(sealing: changed.binding, for: recipients)
        #expect(try place.keep(state, changed.binding, recipients, replaces: true).tag == state.tag)
    }

    /// The change is detected even if size and modification time are restored.
    @Test func aChangeThatHidesIsSeen() throws {
        let before = try sample.source(path)
        var times = [timespec(), timespec()]
        times[1] = timespec(tv_sec: Int(before.file.modified.seconds), tv_nsec: Int(before.file.modified.nanoseconds))
        times[0] = times[1]
        _ = try sample.write("a", Array("CONTENT".utf8))
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        let after = try sample.source(path)
        #expect(after.file == before.file && after.binding != before.binding)
    }

    @Test func damagedOnesAreNone() throws {
        let source = try sample.source(path)
        _ = try keep(source)
        let bytes = try #require(Files.read(place.path))
        for index in stride(from: 0, to: bytes.count, by: 7) {
            var changed = bytes
            changed[index] ^= 1
            try Files.write(place.path, changed)
            #expect(try place.find(source.binding, recipients) == nil, "byte \(index)")
        }
        for broken in [[], Array(bytes.dropLast()), [UInt8](repeating: 0, count: 1 << 20), Array("R".utf8)] {
            try Files.write(place.path, broken)
            #expect(try place.find(source.binding, recipients) == nil)
        }
    }

    @Test func recordsHaveNoSecrets() throws {
        let source = try sample.source(path)
        let state = try keep(source)
        let record = SealingRecord(
            binding: try source.binding.binding(recipients), id: UploadID(high: 1, low: 2), size: 7, sealedSize: 300,
            kind: .picture)
        place.keep(record)
        guard case .record(let found)? = try place.find(source.binding, recipients) else {
            Issue.record("no record")
            return
        }
        #expect(found == record)
        let bytes = try #require(Files.read(place.path))
        let secrets = Array(try state.encoded.dropFirst(1 + 32 + 8).prefix(32))
        #expect(bytes.count == 1 + SealingRecord.size && !bytes.indices.contains { bytes[$0...].starts(with: secrets) })
        // The record does not apply to other content.
        _ = try sample.write("a", [1])
        #expect(try place.find(sample.source(path).binding, recipients) == nil)
        #expect(
            SealingRecord(Array(record.encoded.dropLast())) == nil
                && SealingRecord([2] + record.encoded.dropFirst()) == nil)
    }

    @Test func whatNobodyComesBackForGoes() throws {
        _ = try keep(sample.source(path))
        let other = SealingPlace(in: StateFolder(path: folder), ["server", "bob", "/b"])
        let source = try sample.source(path)
        _ = try other.keep(
            SealingState(sealing: source.binding, for: recipients), source.binding, recipients, replaces: false)
        #expect(place.path != other.path)
        let old = timespec(tv_sec: time(nil) - 31 * 86_400, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, place.path, [old, old], 0) == 0)
        // Drafts of a process that was killed, and of one that is still writing.
        for (name, age) in [("left", 2), ("written", 0)] {
            let draft = "\(other.path).\(name).new"
            try Files.write(draft, [1])
            let then = timespec(tv_sec: time(nil) - age * 3600, tv_nsec: 0)
            #expect(utimensat(AT_FDCWD, draft, [then, then], 0) == 0)
        }
        StateFolder(path: folder).sweep()
        #expect(!place.exists && other.exists)
        #expect(Files.read("\(other.path).left.new") == nil && Files.read("\(other.path).written.new") == [1])
        StateFolder(path: sample.home.path("nowhere")).sweep()
    }
}
