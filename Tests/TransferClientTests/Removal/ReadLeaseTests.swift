import Glibc
import Testing
import TransferTestSupport

@testable import TransferClient

@Suite struct ReadLeaseTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory(prefersMemory: true)
        path = directory.path("a")
        try Files.write(path, "content")
    }

    private var isOpenForWriting: Bool {
        get throws { try SourceFile(SourcePlace(named: path, followsLink: false)).isOpenForWriting }
    }

    @Test func onlyWhoCouldWriteCounts() throws {
        #expect(try !isOpenForWriting)
        let reader = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(reader) }
        #expect(try !isOpenForWriting)
        for flags in [O_WRONLY, O_RDWR | O_APPEND] {
            let writer = open(path, flags | O_CLOEXEC)
            #expect(try isOpenForWriting)
            close(writer)
            #expect(try !isOpenForWriting)
        }
    }

    /// A process that has mapped the file can write without a descriptor.
    @Test func aMappingThatCanBeWrittenCounts() throws {
        let writer = open(path, O_RDWR | O_CLOEXEC)
        let mapped = mmap(nil, 7, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0)
        try Files.check(close(writer), "close")
        #expect(try isOpenForWriting)
        try Files.check(munmap(mapped, 7), "munmap")
        #expect(try !isOpenForWriting)
    }

    /// The lease ends with the check: a later open for writing succeeds at once.
    @Test func itIsGivenBack() throws {
        let file = try SourceFile(SourcePlace(named: path, followsLink: false))
        #expect(!file.isOpenForWriting)
        let writer = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
        #expect(writer >= 0)
        close(writer)
        withExtendedLifetime(file) {}
    }

    /// The kernel signals the holder of a lease when another process opens the file for writing; by default the signal
    /// would end the process.
    @Test func whoWantsToWriteMeanwhileEndsNothing() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory(prefersMemory: true)
            let path = directory.path("a")
            try Files.write(path, "content")
            let reader = open(path, O_RDONLY | O_CLOEXEC)
            let lease = try ReadLease(on: reader)
            // An open for writing sends the signal, and would wait without O_NONBLOCK.
            let isHeldUp = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK) < 0 && errno == EWOULDBLOCK
            _ = consume lease
            let writer = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
            guard isHeldUp, writer >= 0 else { exit(1) }
        }
    }
}
