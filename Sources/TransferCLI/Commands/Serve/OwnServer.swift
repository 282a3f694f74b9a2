private import Glibc
private import TransferClient
internal import TransferIO
internal import TransferKeys
private import TransferModel
internal import TransferServer
private import TransferSystem

/// Adds a server to the list of known servers of the user who runs it, under its addresses on this machine.
enum OwnServer {
    /// Writes the server's key into the user's list of known servers.
    ///
    /// - Returns: warnings to log; empty if all went well.
    static func pin(_ key: KeyFingerprint, _ endpoints: [Endpoint]) -> [LogEvent] {
        let addresses = endpoints.flatMap(addresses)
        guard let known = KnownServers.standard, !addresses.isEmpty else { return [] }
        do throws(KnownServers.Fault) {
            return try known.addOwn(key, at: addresses).map { entry in
                .announcement(
                    .warning, "knownDifferently",
                    "the list of known servers has another key for \(entry.address.escapedForDisplay), "
                        + "not written by a server, so your clients will refuse this server there; if it is "
                        + "outdated, run 'transfer trust remove \(entry.address.escapedForDisplay)' and "
                        + "restart the server")
            }
        } catch {
            return [.announcement(.warning, "notKnown", "your clients will not know this server: \(error.message)")]
        }
    }

    /// The addresses, in the form of the list of known servers, by which clients on this machine reach a bound address.
    static func addresses(of endpoint: Endpoint) -> [String] {
        switch endpoint {
        case .unix(let path): unixPaths(path).map { ServerAddress(.unix(path: $0), folder: "").server }
        case .internet(let host, let port):
            hosts(host, endpoint).map { ServerAddress(.internet(host: $0, port: port), folder: "").server }
        }
    }

    private static func hosts(_ host: String, _ endpoint: Endpoint) -> [String] {
        switch host {
        case "127.0.0.1", "0.0.0.0": ["127.0.0.1", "localhost"]
        case "::1", "::": ["::1", "localhost"]
        default: endpoint.mayBeLocal ? [host] : []
        }
    }

    /// The path as it was given, for clients in the same working directory, and the absolute path.
    private static func unixPaths(_ path: String) -> [String] {
        guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return [path] }
        defer { free(directory) }
        return [path, "\(String(cString: directory))/\(path)"]
    }
}
