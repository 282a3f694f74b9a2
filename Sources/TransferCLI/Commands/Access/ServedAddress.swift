private import Glibc
internal import TransferAccess
private import TransferIO
internal import TransferModel
private import TransferServer
private import TransferSystem

/// The address at which clients reach the server of a directory, as the server's control socket reports it.
struct ServedAddress: Sendable {
    /// A name or an address, without brackets.
    let host: String

    let port: UInt16

    /// Sentences for the user who makes a link, if other machines may be unable to reach the server, or if no code may
    /// be needed.
    let warnings: [String]

    /// - Parameter advertised: the value of the command's `--advertise`.
    /// - Throws: `AccessFault` if there is no address that a link can contain.
    init(of directory: String, advertised: AdvertisedAddress?) throws(AccessFault) {
        let (answer, complaint) = Self.ask(directory)
        try self.init(answer, complaint, advertised)
    }

    /// - Parameters:
    ///   - answer: the server's status; nil if no server answered.
    ///   - complaint: a sentence that says why there is no answer; nil if there is one.
    init(_ answer: JSONNode?, _ complaint: String?, _ advertised: AdvertisedAddress?) throws(AccessFault) {
        let endpoints = answer.map(Self.endpoints) ?? []
        let said = advertised ?? answer?.text("advertised").flatMap { AdvertisedAddress($0) }
        let reachable = endpoints.first { !$0.mayBeLocal }
        let served = reachable ?? endpoints.first
        let found = answer == nil ? HostAddress.best() : served.flatMap(AdvertisedAddress.host)
        guard let host = said?.host ?? found else {
            throw AccessFault(
                endpoints.isEmpty && answer != nil
                    ? "The server listens on no address that a link can contain; start it with --listen HOST:PORT."
                    : "This machine has no address that other machines can reach; give one with --advertise.")
        }
        self.host = host
        port = said?.port ?? served?.port ?? TransferLink.defaultPort
        var warnings = complaint.map { [$0] } ?? []
        if answer?["encrypted"] == .bool(false) {
            warnings.append(
                "The server runs without encryption and accepts no codes: anyone who can reach it may "
                    + "push. Start it without --plaintext.")
        } else if answer?["anonymous"] == .bool(true) {
            warnings.append(
                "The server was started with --open: anyone who can reach it may push, even without a code.")
        }
        if answer != nil, reachable == nil, said == nil {
            warnings.append(
                "The server listens on this machine only, so no other machine can use this line. Start it with "
                    + "--listen 0.0.0.0:\(TransferLink.defaultPort), or give the address that leads to it with --advertise."
            )
        }
        self.warnings = warnings
    }

    private static func ask(_ directory: String) -> (JSONNode?, complaint: String?) {
        let shown = "'\(directory.escapedForDisplay)'"
        do throws(SystemError) {
            let answer = try StatusSocket.ask(serverOf: directory)
            if let node = try? JSONReader.read(answer) {
                guard node.text("schema") != StatusSocket.schema else { return (node, nil) }
                return (
                    node,
                    "The server of \(shown) is of another version, so it is not known whether clients need a code there; "
                        + "restart it with this one."
                )
            }
            return (nil, "The server of \(shown) doesn't say where it listens; the address may be wrong.")
        } catch {
            switch error.errno {
            case ENOENT, ENOTDIR, ECONNREFUSED:
                return (nil, "No server is running with \(shown); the link works once one runs at this address.")
            default:
                return (nil, "The server of \(shown) cannot be asked where it listens: \(error.reason).")
            }
        }
    }

    private static func endpoints(_ answer: JSONNode) -> [Endpoint] {
        guard case .array(let nodes)? = answer["listening"] else { return [] }
        return nodes.compactMap { node in
            guard case .string(let text) = node, let endpoint = Endpoint(text, defaultPort: 0),
                case .internet = endpoint
            else { return nil }
            return endpoint
        }
    }
}

extension Endpoint {
    fileprivate var port: UInt16? {
        if case .internet(_, let port) = self { port } else { nil }
    }
}

extension JSONNode {
    fileprivate func text(_ key: String) -> String? {
        guard case .string(let text)? = self[key] else { return nil }
        return text
    }
}
