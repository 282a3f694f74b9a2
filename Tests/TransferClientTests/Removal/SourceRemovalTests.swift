import CLinux
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct SourceRemovalTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path("in/a.bin")
    }

    @Test(arguments: [0, 100, 70_000, 9 << 20]) func whatIsStored(_ size: Int) async throws {
        try await withServer { server in
            try Files.write(path, SplitMix64.bytes(seed: 3, size))
            let report = try await push(server)
            #expect(report.result == .committed && report.isRead)
            try await client(server).removeSource(of: report)
            #expect(Files.read(path) == nil)
            #expect(server.stored("a.bin")?.count == size)
            #expect(isDirectory(directory.path("in")))
        }
    }

    /// The server already had the file, so the push did not read the source. The removal reads and compares it.
    @Test(arguments: [100, 9 << 20]) func whatWasStoredBefore(_ size: Int) async throws {
        try await withServer { server in
            let bytes = SplitMix64.bytes(seed: 3, size)
            try Files.write(path, bytes)
            _ = try await push(server)
            let report = try await push(server)
            #expect(report.result == .alreadyStored)
            // Other content with the same size and modification time, which stat(2) cannot reveal.
            var status = stat()
            try Files.check(stat(path, &status), "stat")
            try Files.write(path, bytes.map { ~$0 })
            try Files.check(utimensat(AT_FDCWD, path, [status.st_mtim, status.st_mtim], 0), "utimensat")
            if !report.isRead {
                await expectKept("It has changed since it was pushed.", report, server)
                try Files.write(path, bytes)
                try Files.check(utimensat(AT_FDCWD, path, [status.st_mtim, status.st_mtim], 0), "utimensat")
            }
            try await client(server).removeSource(of: report)
            #expect(Files.read(path) == nil)
        }
    }

    /// Another client has replaced, moved or removed the stored file since the push.
    @Test(arguments: ["replaced", "moved", "removed"]) func whatIsThereNoMore(change: String) async throws {
        try await withServer { server in
            try Files.write(path, "first")
            let report = try await push(server)
            let stored = server.directory.path("store/a.bin")
            switch change {
            case "replaced": try Files.write(stored, "other")
            case "moved": try Files.check(rename(stored, server.directory.path("store/b.bin")), "rename")
            default: try Files.check(unlink(stored), "unlink")
            }
            let reason = "The server no longer has it under that name"
            await expectKept(reason + ": it was replaced, moved or removed.", report, server)
            #expect(Files.read(path) == Array("first".utf8))
        }
    }

    @Test func notWhatChangedMeanwhile() async throws {
        try await withServer { server in
            try Files.write(path, "before")
            let report = try await push(server)
            try Files.append(path, "!")
            await expectKept("It has changed since it was pushed.", report, server)
            // Another file takes the place of the source, with the same size and modification time.
            try Files.write(path, "before")
            let other = try await push(server)
            try Files.check(rename(path, path + ".old"), "rename")
            try Files.write(path, "before")
            await expectKept("It has changed since it was pushed.", other, server)
            try Files.check(unlink(path), "unlink")
            await expectKept("There is no such file or directory.", other, server)
        }
    }

    /// A bind mount shows the source in the server's directory under the destination path; removing the source must not
    /// remove the only copy.
    @Test func whatTheServerHadByAMount() async throws {
        try await withServer { server in
            try Files.write(path, "x")
            let place = server.directory.path("store/a.bin")
            try Files.write(place, "")
            guard let mount = BoundFile(path, at: place) else { return }
            defer { withExtendedLifetime(mount) {} }
            let report = try await push(server)
            #expect(report.result == .committed && report.storedPath == "a-1.bin")
            try await client(server).removeSource(of: report)
            #expect(Files.read(path) == nil && server.stored("a-1.bin") == Array("x".utf8))
        }
    }

    @Test func notThroughALink() async throws {
        try await withServer { server in
            try Files.write(directory.path("target"), "x")
            try Files.makeDirectory(directory.path("in"))
            try Files.check(symlink("../target", path), "symlink")
            let report = try await push(server)
            #expect(report.result == .committed)
            await expectKept("It is a symbolic link.", report, server)
        }
    }

    @Test func notWithoutAPromise() async throws {
        try await withServer { server in
            try Files.write(path, "x")
            let report = try await push(server)
            let unsure = "The server has not confirmed that it is durable."
            var other = report
            other.isDurable = false
            await expectKept(unsure, other, server)
            for code in [ResultCode.skipped, .badReceipt, .staged, .busy] {
                other = report
                other.result = code
                await expectKept(unsure, other, server)
            }
            other = report
            other.file = nil
            await expectKept("It is not a file.", other, server)
        }
    }

    /// Without an answer, the client cannot know whether the source is the stored file.
    @Test func notWithoutAnAnswer() async throws {
        let server = try await RunningServer(in: TemporaryDirectory())
        try Files.write(path, "x")
        let report = try await push(server)
        await server.stop()
        let kept = await #expect(throws: SourceKept.self) { try await client(server).removeSource(of: report) }
        #expect(kept?.reason.hasPrefix("The server could not be asked whether it still has the file: ") == true)
        #expect(Files.tree(directory.path("in")) == ["a.bin"])
    }

    /// If the witness was removed in the meantime, the server's "not found" proves nothing.
    @Test func notWhenTheWitnessIsGone() async throws {
        try await withServer { server in
            try Files.write(path, "x")
            let report = try await push(server)
            var directories = SourceDirectories(swept: SweptDirectories(WitnessKey(in: nil)))
            let source = try MarkedSource(report, mayHaveReplaced: false, &directories)
            let names = Files.tree(directory.path("in"))
            let witness = try #require(names.first { SourceWitness.isName($0) })
            #expect(names.count == 2 && source.witnessPath == witness)
            try Files.check(unlink(directory.path("in/\(witness)")), "unlink")
            let said = Self.answers(source, report, .notFound)
            let changed = SourceKept(reason: "Its directory changed while the client asked the server about it.")
            #expect(throws: changed) { try source.remove(said) }
            #expect(Files.tree(directory.path("in")) == ["a.bin"])
        }
    }

    @Test(arguments: [ResultCode.storageFailed, .busy, .forbidden, .invalidPath, .completed, .wrongForm])
    func notOnAnyOtherAnswer(_ code: ResultCode) async throws {
        try await withServer { server in
            try Files.write(path, "x")
            let report = try await push(server)
            var directories = SourceDirectories(swept: SweptDirectories(WitnessKey(in: nil)))
            let source = try MarkedSource(report, mayHaveReplaced: true, &directories)
            #expect(throws: SourceKept.self) { try source.remove(Self.answers(source, report, code)) }
            #expect(Files.tree(directory.path("in")) == ["a.bin"])
        }
    }

    /// The client holds the parent directory open, so a new directory at the same path is not touched.
    @Test func theDirectoryIsHeld() async throws {
        try await withServer { server in
            try Files.write(path, "x")
            let report = try await push(server)
            var directories = SourceDirectories(swept: SweptDirectories(WitnessKey(in: nil)))
            let source = try MarkedSource(report, mayHaveReplaced: false, &directories)
            try Files.check(rename(directory.path("in"), directory.path("moved")), "rename")
            try Files.write(path, "x")
            try source.remove(Self.answers(source, report, .notFound))
            #expect(Files.tree(directory.path("in")) == ["a.bin"] && Files.tree(directory.path("moved")) == [])
        }
    }

    @Test func manyHaveAResultEach() async throws {
        try await withServer { server in
            var reports: [UploadReport] = []
            for number in 0..<600 { try Files.write(directory.path("in/d\(number % 3)/f\(number)"), "\(number)") }
            let client = try client(server)
            for try await event in client.push([.path(directory.path("in"))]) {
                if case .finished(let report) = event { reports.append(report) }
            }
            reports[300].isDurable = false
            let results = await client.removeSources(of: reports)
            let kept = results.indices.filter { if case .failure = results[$0] { true } else { false } }
            #expect(results.count == 600 && kept == [300])
            #expect(Files.tree(directory.path("in")).count == 1)
        }
    }

    /// Answers of a server that has the pushed file.
    ///
    /// - Parameter code: the server's result for the witness.
    private static func answers(_ source: MarkedSource, _ report: UploadReport, _ code: ResultCode) -> SourceAnswers {
        var said = SourceAnswers()
        said.paths[PathKey(source.witnessPath)] = StatReport(
            path: source.witnessPath, entry: nil, result: code, message: "No.")
        said.uploads[report.uploadID] = UploadResult(
            id: report.uploadID, code: .alreadyStored, isDurable: true, size: report.size, digest: report.digest,
            storedPath: report.storedPath)
        return said
    }

    private func expectKept(_ reason: String, _ report: UploadReport, _ server: RunningServer) async {
        await #expect(throws: SourceKept(reason: reason)) { try await client(server).removeSource(of: report) }
    }

    private func client(_ server: RunningServer) throws -> TransferClient {
        try TransferClient(server: server.address, configuration: .patient)
    }

    private func push(_ server: RunningServer) async throws -> UploadReport {
        let reports = try await client(server).push(.path(path))
        return try #require(reports.first)
    }
}
