import TransferAccess
import TransferHTTP
import TransferModel
import TransferTestSupport

@testable import TransferServer

/// A server with access lists, at which browsers sign in by links.
final class BrowserFolder: Sendable {
    let directory: TemporaryDirectory
    let lists: any AccessLists

    init() throws {
        directory = try TemporaryDirectory()
        lists = try StoreKind.current.access(in: directory)
    }

    func serving(
        _ change: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (TestServer) throws -> Void
    ) async throws {
        try await TransferServerTests.serving(
            { configuration in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
                configuration.http = .on
                change(&configuration)
            }, in: directory, body)
    }

    /// Makes a link for signing in.
    ///
    /// - Returns: the path of the link.
    func link(_ rights: AccessRights = .readWrite, folder name: String? = nil) throws -> String {
        var options = AccessOptions()
        (options.rights, options.folder) = (rights, try name.map { try RelativePath($0) })
        let now = UTCTime.now
        options.expires = now.advanced(bySeconds: AccessSecret.pairingSeconds)
        let secret = try lists.issueLink(
            name: "ann <b>", options: options, sessionEnds: now.advanced(bySeconds: 3600), at: now)
        return "/.transfer/in/\(secret.text)"
    }

    /// Signs in by a link.
    ///
    /// - Returns: the fields that a browser sends from a page of the server in this session.
    func session(_ client: HTTPClient, _ rights: AccessRights = .readWrite) throws -> [(String, String)] {
        let answer = try client.ask(.post, try link(rights), [Self.own], [])
        guard answer.status == 303, let cookie = answer["set-cookie"]?.prefix(while: { $0 != ";" }) else {
            throw RawClient.Failure(description: "no session: \(answer.status) \(answer.text)")
        }
        return [("Cookie", "other=1; \(cookie)"), Self.own]
    }

    var sessions: [AccessToken] {
        get throws {
            try lists.tokens.get().entries.filter { $0.kind == .session }
        }
    }

    /// Origin of the server's own pages.
    static let own = ("Origin", "https://server")
}
