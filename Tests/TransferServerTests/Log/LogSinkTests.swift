import Glibc
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferServer

@Suite struct LogSinkTests {
    /// A pipe that takes 64 KiB and no more (pipe(7)).
    private struct Pipe {
        let reading: Int32
        let writing: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            (reading, writing) = (ends[0], ends[1])
        }

        func close() {
            Glibc.close(reading)
            Glibc.close(writing)
        }

        /// Reads the bytes that are waiting in the pipe.
        func readAll() -> String {
            var waiting: Int32 = 0
            guard ioctl(reading, UInt(FIONREAD), &waiting) == 0, waiting > 0 else { return "" }
            let bytes = [UInt8](unsafeUninitializedCapacity: Int(waiting)) { buffer, count in
                count = max(0, read(reading, buffer.baseAddress, buffer.count))
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private func notice(_ count: Int) -> String { "left out: \(count)\n" }

    @Test func leavesOutWhatNobodyReads() throws {
        let pipe = try Pipe()
        defer { pipe.close() }
        let sink = LogSink(pipe.writing, patience: .milliseconds(1))
        let line = String(repeating: "x", count: 999) + "\n"
        let count = 100
        for _ in 0..<count { sink.write(line, count: 1, notice: notice) }
        let first = pipe.readAll()
        sink.write("later\n", count: 1, notice: notice)
        let second = pipe.readAll()
        let kept = first.split(separator: "\n").count
        #expect(kept > 0 && kept < count && first == String(repeating: line, count: kept))
        #expect(second == "left out: \(count - kept)\nlater\n")
        sink.write("last\n", count: 1, notice: notice)
        #expect(pipe.readAll() == "last\n")
    }

    /// The rest of an interrupted line is lost, and the next message begins a new line.
    @Test func neverPutsTwoLinesInOne() throws {
        let pipe = try Pipe()
        defer { pipe.close() }
        let sink = LogSink(pipe.writing, patience: .milliseconds(1))
        sink.write(String(repeating: "y", count: 70_000) + "\nshort\n", count: 2, notice: notice)
        let first = pipe.readAll()
        #expect(first == String(repeating: "y", count: 65_536))
        sink.write("later\n", count: 1, notice: notice)
        #expect(pipe.readAll() == "\nleft out: 2\nlater\n")
    }

    @Test func noLogIsNoFault() {
        LogSink(-1, patience: .seconds(1000)).write("x\n", count: 1, notice: notice)
        LogSink(1 << 20, patience: .seconds(1000)).write("x\n", count: 1, notice: notice)
    }
}

extension ServerTests {
    @Suite(.directoryOnly) struct UnreadLogTests {
        /// A reader of the log has stopped reading.
        @Test func stopsNobody() async throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            let (reading, writing) = (ends[0], ends[1])
            defer {
                close(reading)
                close(writing)
            }
            let log = Log(descriptor: writing, level: .debug, patience: .milliseconds(1))
            try await serving(log: log) { server in
                for _ in 0..<500 { try server.checkServes() }
            }
        }
    }
}
