import CLinux
import Dispatch
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct MarkedSourceTests {
    /// The source changes between the check before the client asks the server and the answer.
    @Test(arguments: [false, true]) func aSourceThatChangesMeanwhileStays(changes: Bool) throws {
        let directory = try TemporaryDirectory()
        let source = try marked(directory.path("a"))
        if changes { try Files.write(directory.path("a"), "changed") }
        if changes {
            #expect(throws: SourceKept.self) { try source.remove(Self.answers(source)) }
        } else {
            try source.remove(Self.answers(source))
        }
        #expect(Files.tree(directory.path) == (changes ? ["a"] : []))
    }

    /// Another process replaces the source, or appends to it, at the very moment of the removal: the new content stays.
    @Test(arguments: [false, true]) func whatComesInBetweenStays(appends: Bool) throws {
        let directory = try TemporaryDirectory(prefersMemory: true)
        let (path, other) = (directory.path("a"), directory.path("b"))
        for _ in 0..<2000 {
            let source = try marked(path)
            if !appends { try Files.write(other, "other") }
            let writer = appends ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1
            nonisolated(unsafe) var isWritten = false
            DispatchQueue.concurrentPerform(iterations: 2) { turn in
                if turn == 0 {
                    try? source.remove(Self.answers(source))
                } else if appends {
                    var status = stat()
                    isWritten = write(writer, "more", 4) == 4 && access(path, F_OK) == 0 && fstat(writer, &status) == 0
                } else {
                    _ = rename(other, path)
                }
            }
            if appends { close(writer) }
            // If the path still exists after the write, the file was not removed before the write, so the written bytes
            // must remain.
            guard !appends || isWritten else {
                for name in Files.tree(directory.path) { unlink(directory.path(name)) }
                continue
            }
            let left = Files.tree(directory.path).compactMap { Files.read(directory.path($0)) }
            #expect(left.contains(Array((appends ? "xmore" : "other").utf8)))
            for name in Files.tree(directory.path) { unlink(directory.path(name)) }
        }
    }

    /// The change is noticed before a witness is made.
    @Test func whatHasChangedBeforeGetsNoWitness() throws {
        let directory = try TemporaryDirectory()
        let report = try pushed(directory.path("a"))
        try Files.write(directory.path("a"), "changed")
        #expect(throws: SourceKept(reason: "It has changed since it was pushed.")) { try marked(report) }
        #expect(Files.tree(directory.path) == ["a"])
    }

    private static let uploadID = UploadID(high: 1, low: 2)

    private static let digest = Digest(.xxh128, [UInt8](repeating: 1, count: 16))

    /// Answers of a server that has the file and does not see the witness.
    private static func answers(
        _ source: MarkedSource, storedPath: String = "a", digest: Digest = digest, isDurable: Bool = true
    ) -> SourceAnswers {
        var said = SourceAnswers()
        said.paths[PathKey(source.witnessPath)] = StatReport(
            path: source.witnessPath, entry: nil, result: .notFound, message: "")
        said.uploads[uploadID] = UploadResult(
            id: uploadID, code: .alreadyStored, isDurable: isDurable, size: 1, digest: digest, storedPath: storedPath)
        return said
    }

    private static let isOpen = SourceKept(reason: "A program has it open for writing.")

    /// By now the server has other content at the path, has the file at another path, not durably, or not at all.
    @Test func whatIsNotStoredAsItWasAcknowledgedStays() throws {
        let directory = try TemporaryDirectory()
        let other = Digest(.xxh128, [UInt8](repeating: 2, count: 16))
        for index in 0..<4 {
            let source = try marked(directory.path("a"))
            var said = [
                Self.answers(source, storedPath: "b"), Self.answers(source, digest: other),
                Self.answers(source, isDurable: false), Self.answers(source),
            ][index]
            if index == 3 { said.uploads = [:] }
            let kept = #expect(throws: SourceKept.self) { try source.remove(said) }
            #expect(kept?.reason.hasPrefix("The server no longer has it under that name") == true)
            #expect(Files.tree(directory.path) == ["a"])
        }
    }

    /// A server that did not answer proves nothing about the file.
    @Test func withoutAnAnswerItStays() throws {
        let directory = try TemporaryDirectory()
        let source = try marked(directory.path("a"))
        var said = Self.answers(source)
        (said.uploads, said.failure) = ([:], TransferFailure(reason: .unreachable, message: "Nobody answers."))
        #expect(
            throws: SourceKept(reason: "The server could not be asked whether it still has the file: Nobody answers.")
        ) {
            try source.remove(said)
        }
        #expect(Files.tree(directory.path) == ["a"])
    }

    /// Later writes to an open file would be lost. The file gets no witness and keeps its name all the time.
    @Test func whatSomebodyMayWriteToStays() throws {
        let directory = try TemporaryDirectory(prefersMemory: true)
        try Files.write(directory.path("a"), "x")
        let writer = open(directory.path("a"), O_WRONLY | O_APPEND | O_CLOEXEC)
        #expect(throws: Self.isOpen) { try marked(directory.path("a")) }
        #expect(Files.tree(directory.path) == ["a"])
        close(writer)
        let source = try marked(directory.path("a"))
        try source.remove(Self.answers(source))
        #expect(Files.tree(directory.path) == [])
    }

    /// Another process opened the file after the check: the file gets its name back, and the appended bytes are in it.
    @Test func whatSomebodyHasOpenedMeanwhileStays() throws {
        let directory = try TemporaryDirectory(prefersMemory: true)
        let source = try marked(directory.path("a"))
        let writer = open(directory.path("a"), O_WRONLY | O_APPEND | O_CLOEXEC)
        #expect(throws: Self.isOpen) { try source.remove(Self.answers(source)) }
        #expect(Files.tree(directory.path) == ["a"] && write(writer, "more", 4) == 4)
        #expect(Files.read(directory.path("a")) == Array("xmore".utf8))
        close(writer)
    }

    /// A name that another process has taken in the meantime is left to that process.
    @Test func aLinkThatSaysSomethingElseStays() throws {
        let directory = try TemporaryDirectory()
        try Files.write(directory.path("a"), "x")
        let source = try marked(directory.path("a"))
        #expect(unlink(directory.path("a")) == 0 && symlink("b", directory.path("a")) == 0)
        #expect(throws: SourceKept.self) { try source.remove(Self.answers(source)) }
        #expect(Files.tree(directory.path) == ["a"])
    }

    /// Pushes a file of one byte and marks it.
    private func marked(_ path: String) throws -> MarkedSource { try marked(pushed(path)) }

    private func marked(_ report: UploadReport) throws -> MarkedSource {
        var directories = SourceDirectories(swept: SweptDirectories(WitnessKey(in: nil)))
        // A child process that another test is just starting briefly has copies of all descriptors.
        for _ in 0..<2000 {
            do throws(SourceKept) {
                return try MarkedSource(report, mayHaveReplaced: false, &directories)
            } catch {
                guard error.reason.contains("open for writing") else { throw error }
            }
        }
        return try MarkedSource(report, mayHaveReplaced: false, &directories)
    }

    private func pushed(_ path: String) throws -> UploadReport {
        try Files.write(path, "x")
        var report = UploadReport(
            source: path, uploadID: Self.uploadID, result: .committed, kind: .file, size: 1, message: "")
        (report.isDurable, report.isRead, report.storedPath) = (true, true, "a")
        report.digest = Self.digest
        report.file = try SourceFile(SourcePlace(named: path, followsLink: false)).identity
        return report
    }
}
