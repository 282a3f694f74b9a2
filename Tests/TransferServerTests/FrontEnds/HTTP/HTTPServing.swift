import TransferTestSupport

@testable import TransferServer

/// Runs the body with a server that speaks HTTP on the port of its own protocol.
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
