import Glibc
import Testing
import TransferTestSupport

/// The rate in a summary counts the bytes of content that were sent or received.
@Suite(.ownThreads) struct RateTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    private func run(_ arguments: [String]) throws -> Finished {
        let finished = try Finished(arguments + ["--plaintext"], Surroundings(directory: here.path))
        #expect(finished.end == .exited(0), "\(arguments): \(finished.errors)")
        return finished
    }

    /// Writes a sparse file of that size with content at its end.
    private func makeSparse(_ size: Int, content: [UInt8]) throws {
        try writeFile(here.path("sparse"), [])
        let number = open(here.path("sparse"), O_WRONLY | O_CLOEXEC)
        defer { close(number) }
        #expect(ftruncate(number, off_t(size)) == 0)
        let start = off_t(size - content.count)
        #expect(content.withUnsafeBytes { pwrite(number, $0.baseAddress, $0.count, start) } == content.count)
    }

    /// Bytes per second in the last line; nil if the line has no rate.
    private func rate(_ finished: Finished) throws -> Double? {
        guard let start = finished.errors.utf8.lastIndex(of: UInt8(ascii: "(")), finished.errors.contains("B/s)") else {
            return nil
        }
        let words = finished.errors[start...].dropFirst().split(separator: " ")
        let factors = ["B/s)": 1.0, "KB/s)": 1e3, "MB/s)": 1e6, "GB/s)": 1e9]
        let unit = String(words[1].prefix { $0 != ")" } + ")")
        return try #require(Double(words[0])) * #require(factors[unit])
    }

    /// Holes cause no traffic, so there is no rate.
    @Test func holesHaveNone() throws {
        let server = try RunningServer()
        try makeSparse(1 << 30, content: [])
        #expect(try rate(run(["push", "sparse", "--to", server.address])) == nil)
        #expect(try rate(run(["pull", "\(server.address):/sparse", "-o", "back"])) == nil)
    }

    @Test func whatIsBesideHolesHasOne() throws {
        let server = try RunningServer()
        try makeSparse(1 << 30, content: randomBytes(100_000, seed: 1))
        // The summary reports a gigabyte, and both commands take less than a second.
        for command in [
            ["push", "sparse", "--to", server.address], ["pull", "\(server.address):/sparse", "-o", "back"],
        ] {
            let finished = try run(command)
            let rate = try #require(try rate(finished), "\(finished.errors)")
            #expect(rate < 100e6 && finished.errors.contains("1.1 GB in "), "\(finished.errors)")
        }
    }

    @Test func whatIsThereHasNone() throws {
        let server = try RunningServer()
        try writeFile(here.path("file"), randomBytes(20 << 20, seed: 2))
        #expect(try rate(run(["push", "file", "--to", server.address])) != nil)
        let again = try run(["push", "file", "--to", server.address])
        #expect(try rate(again) == nil && again.errors.contains("1 there already"), "\(again.errors)")
        #expect(try rate(run(["pull", "\(server.address):/file", "-o", "back"])) != nil)
        #expect(try rate(run(["pull", "\(server.address):/file", "-o", "back"])) == nil)
    }

    /// Ten megabytes that compress to a few kilobytes.
    @Test(arguments: ["zlib", "zstd"]) func compressedContentCountsAsItTravels(_ method: String) throws {
        let server = try RunningServer()
        try writeFile(here.path("file"), [UInt8](repeating: 7, count: 10 << 20))
        for command in [["push", "file", "--to", server.address], ["pull", "\(server.address):/file", "-o", "back"]] {
            let finished = try run(command + ["--compress", method, "--bandwidth", "1M"])
            let rate = try #require(try rate(finished), "\(finished.errors)")
            #expect(rate < 1.2e6, "\(finished.errors)")
        }
    }
}
