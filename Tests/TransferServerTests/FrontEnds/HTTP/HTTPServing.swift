import TransferTestSupport

@testable import TransferServer

/// Runs the body with a server that also accepts HTTP on the port for frames.
func servingHTTP(
    in directory: TemporaryDirectory? = nil, _ change: (inout ServerConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (TestServer) throws -> Void
) async throws {
    try await serving(
        { configuration in
            configuration.http = .on
            change(&configuration)
        }, in: directory, body)
}
