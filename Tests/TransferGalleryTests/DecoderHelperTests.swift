import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferGallery

/// The process that starts decoders, on a thread of the tests.
@Suite struct DecoderHelperTests {
    /// Sends a job, and waits for its end.
    private static func end(_ channel: DescriptorChannel, number: UInt32 = 7) throws -> DecoderEnd? {
        let input = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC))
        let memory = try fixedMemoryFile(size: PictureReport.mostBytes)
        let job = DecoderJob(number: number, PictureDecoder(size: 10, side: 320))
        try channel.send(job.bytes, [input.number, memory.number])
        return try next(channel)
    }

    private static func next(_ channel: DescriptorChannel) throws -> DecoderEnd? {
        var entry = pollfd(fd: channel.number, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, -1)
        guard case .message(let bytes, _) = try channel.receive(upTo: DecoderEnd.length) else { return nil }
        return DecoderEnd(bytes)
    }

    @Test func itTellsHowADecoderHasEnded() throws {
        let ends: [(String, DecoderEnd.Way)] = [
            ("exit 0", .reported), ("exit 1", .unavailable), ("kill -SEGV $$", .failed), ("kill -SYS $$", .failed),
            ("kill -XCPU $$", .failed), ("kill -KILL $$", .stopped),
        ]
        for (script, way) in ends {
            #expect(try Self.end(try Decoders.helper(script: script)) == DecoderEnd(number: 7, way), "\(script)")
        }
    }

    @Test func aDecoderThatNeverEndsIsKilled() throws {
        let channel = try Decoders.helper(["/bin/sh", "-c", "kill -STOP $$"], patience: 50_000_000)
        #expect(try Self.end(channel) == DecoderEnd(number: 7, .stopped))
    }

    @Test func aProgramThatIsMissingIsToldAsSuch() throws {
        #expect(try Self.end(try Decoders.helper(["/nowhere"])) == DecoderEnd(number: 7, .unavailable))
    }

    @Test func severalDecodersRunAtOnce() throws {
        let channel = try Decoders.helper(script: "read line; exit 0")
        var numbers: Set<UInt32> = []
        for number in UInt32(1)...8 {
            let memory = try fixedMemoryFile(size: PictureReport.mostBytes)
            let input = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC))
            let job = DecoderJob(number: number, PictureDecoder(size: 10, side: nil))
            try channel.send(job.bytes, [input.number, memory.number])
        }
        for _ in 1...8 { numbers.insert(try #require(try Self.next(channel)).number) }
        #expect(numbers == Set(1...8))
    }

    /// Only a server sends jobs, and nothing else.
    @Test func nonsenseEndsTheHelper() throws {
        let channel = try Decoders.helper(script: "exit 0")
        try channel.send([1, 2, 3])
        var entry = pollfd(fd: channel.number, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, -1)
        guard case .end = try channel.receive(upTo: 16) else {
            Issue.record("the helper is still there")
            return
        }
    }

    @Test func aJobWithoutDescriptorsIsRefused() throws {
        let channel = try Decoders.helper(script: "exit 0")
        try channel.send(DecoderJob(number: 3, PictureDecoder(size: 1, side: nil)).bytes)
        #expect(try Self.next(channel) == DecoderEnd(number: 3, .unavailable))
    }

    @Test func whatADecoderIsToldIsReadBack() {
        for decoder in [PictureDecoder(size: 0, side: nil), PictureDecoder(size: 1 << 40, side: 1280)] {
            let read = PictureDecoder(decoder.text)
            #expect(read?.size == decoder.size)
            #expect(read?.side == decoder.side)
            #expect(DecoderJob(DecoderJob(number: .max, decoder).bytes) == DecoderJob(number: .max, decoder))
        }
        for text in ["", "1", "a b", "-1 320", "1 2", "1 4000000000000", "1 320 3"] {
            #expect(PictureDecoder(text) == nil)
        }
        #expect(DecoderEnd([0, 0, 0, 1, 9]) == nil)
        #expect(DecoderEnd([0, 0, 0, 1]) == nil)
    }
}
