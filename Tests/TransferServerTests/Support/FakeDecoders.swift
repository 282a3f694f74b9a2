import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferGallery
@testable import TransferServer

/// A helper on a thread of the tests, whose decoders write a file of the test in place of a report.
final class FakeDecoders: Sendable {
    private let folder: TemporaryDirectory

    init(_ report: PictureReport) throws {
        folder = try TemporaryDirectory()
        let file = open(folder.path("report"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        try writeAll(report.bytes, to: file)
        try #require(mkfifo(folder.path("gate"), 0o600) == 0)
    }

    /// - Parameter waits: whether each decoder waits until the test lets it go on.
    func foundations(waits: Bool = false) -> ServerFoundations {
        let script = (waits ? "read line < '\(folder.path("gate"))'; " : "") + "cat '\(folder.path("report"))'"
        var foundations = ServerFoundations()
        foundations.startDecoding = { () throws(SystemError) in
            let (own, other) = try DescriptorChannel.pair()
            _ = TestThread {
                var helper = DecoderHelper(other, program: ["/bin/sh", "-c", script], environment: [])
                helper.serve()
            }
            return own
        }
        return foundations
    }

    /// Lets one decoder go on; waits until there is one.
    func letOneGo() throws {
        let gate = awaitOne()
        try writeAll(Array("go\n".utf8), to: gate.number)
    }

    /// Lets decoders go on, those that wait and those that will.
    ///
    /// - Returns: later decoders wait when this is closed.
    func openGate(for count: Int) throws -> Descriptor {
        let gate = Descriptor(open(folder.path("gate"), O_RDWR | O_CLOEXEC))
        try writeAll(Array(repeating: Array("go\n".utf8), count: count).flatMap { $0 }, to: gate.number)
        return gate
    }

    /// Waits until a decoder waits.
    ///
    /// - Returns: the decoder goes on when this is closed.
    func awaitOne() -> Descriptor { Descriptor(open(folder.path("gate"), O_WRONLY | O_CLOEXEC)) }
}
