import Glibc
import TransferTestSupport

@testable import TransferServer

/// - Returns: the lines that a server has logged while the body ran.
func logged(
    _ format: Log.Format = .text, _ level: LogEvent.Level = .info,
    _ change: (inout ServerConfiguration) -> Void = { _ in },
    in directory: TemporaryDirectory, on foundations: ServerFoundations = ServerFoundations(),
    _ body: @escaping @Sendable (TestServer) throws -> Void
) async throws -> [String] {
    let place = try TemporaryDirectory()
    let number = open(place.path("log"), O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(number) }
    let log = Log(descriptor: number, format: format, level: level)
    try await serving(change, log: log, in: directory, on: foundations, body)
    let text = String(decoding: TestServer.read(place.path("log")) ?? [], as: UTF8.self)
    guard text.isEmpty || text.hasSuffix("\n") else {
        throw RawClient.Failure(description: "the log ends in the middle of a line")
    }
    return text.split(separator: "\n").map(String.init)
}
