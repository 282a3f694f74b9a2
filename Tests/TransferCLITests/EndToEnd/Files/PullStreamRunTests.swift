import Glibc
import Testing
import TransferModel
import TransferTestSupport

/// Pulls into a target that is not a regular file, with the real program on both sides.
@Suite(.ownThreads) struct PullStreamRunTests {
    private static let content = randomBytes(40_000, seed: 1)

    private let here: TemporaryDirectory
    private let server: RunningServer

    init() throws {
        (here, server) = (try TemporaryDirectory(), try RunningServer())
        try writeFile(here.path("a"), Self.content)
        #expect(try server.push([here.path("a")]).end == .exited(0))
    }

    private func pull(_ output: String, _ more: [String] = [], _ surroundings: Surroundings = Surroundings()) throws
        -> Finished
    {
        var surroundings = surroundings
        surroundings.directory = here.path
        return try server.run(["pull", "a", "-o", output] + more, surroundings)
    }

    @Test func aFIFOGetsTheContent() throws {
        #expect(mkfifo(here.path("fifo"), 0o600) == 0)
        let number = open(here.path("fifo"), O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(number) }
        let pull = try pull("fifo")
        #expect(pull.end == .exited(0) && pull.output == "" && pull.errors == "", "\(pull.errors)")
        var bytes = [UInt8](repeating: 0, count: 65_536)
        #expect(read(number, &bytes, bytes.count) == Self.content.count)
        #expect(Array(bytes.prefix(Self.content.count)) == Self.content)
        #expect(names(in: here.path).sorted() == ["a", "fifo"])
    }

    @Test func aDeviceTakesIt() throws {
        #expect(symlink("/dev/null", here.path("link")) == 0)
        for place in ["/dev/null", "link"] { #expect(try pull(place).end == .exited(0)) }
        #expect(!names(in: "/dev").contains("null-1") && names(in: here.path).sorted() == ["a", "link"])
        let full = try pull("/dev/full")
        #expect(full.end == .exited(1), "\(full.errors)")
        #expect(full.errors.contains("cannot write to '/dev/full': No space left on device"), "\(full.errors)")
    }

    /// If the stream is a file, the pull appends to it and does not replace it.
    @Test(arguments: ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"])
    func whatIsOpenGetsIt(_ place: String) throws {
        #expect(try pull(place).output.utf8.count > 0)
        try writeFile(here.path("out"), [])
        var surroundings = Surroundings()
        surroundings.output = .file(here.path("out"))
        #expect(try pull(place, [], surroundings).end == .exited(0))
        #expect(try readFile(here.path("out")) == Self.content)
        #expect(names(in: here.path).sorted() == ["a", "out"])
    }

    @Test func whatTakesNothingIsSaid() throws {
        let closed = try pull("/dev/fd/0")
        #expect(closed.end == .exited(2) && closed.errors.contains("-o /dev/fd/0: it cannot be written to"))
        #expect(try pull("/dev/fd/99").end == .exited(2))
        for flag in ["--json", "--dry-run", "--archive"] {
            let wrong = try pull("/dev/null", [flag])
            #expect(
                wrong.end == .exited(2) && wrong.errors.contains("\(flag) cannot be combined with -o /dev/null"),
                "\(wrong.errors)"
            )
        }
        let several = try server.run(["pull", "a", "b", "-o", "/dev/null"])
        #expect(several.end == .exited(2) && several.errors.contains("-o /dev/null takes a single file"))
    }
}
