import TransferIO
import TransferSystem

extension ServerConfiguration {
    /// What the server is called, as far as this machine knows it without asking the network, in lower case: names, and
    /// addresses in digits. For its certificate, and to know whether it is the one that a browser means.
    var ownNames: [String] {
        var names = ["localhost", "127.0.0.1", "::1"] + hostNames
        let hosts = (endpoints + [advertised.flatMap { Endpoint($0, defaultPort: 0) }].compactMap(\.self))
            .compactMap(\.host)
        names += hosts.filter { !Self.isEverything($0) }
        let bound = sockets.filter { $0.use == nil }.compactMap { IPAddress($0.socket.address) }
        names += bound.filter { !$0.isUnspecified }.compactMap(\.text)
        if hosts.contains(where: Self.isAllIPv4) || bound.contains(.ipv4(0)) { names += Self.addresses }
        return names.reduce(into: []) { unique, name in
            let name = name.lowercased()
            if !unique.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { unique.append(name) }
        }
    }

    /// The machine's name, and what neighbours call it (RFC 6762).
    private var hostNames: [String] {
        guard let name = HostName.own else { return [] }
        return name.utf8.contains(UInt8(ascii: ".")) ? [name] : [name, name + ".local"]
    }

    private static func isAllIPv4(_ host: String) -> Bool { host == "*" || IPAddress(host) == .ipv4(0) }

    private static func isEverything(_ host: String) -> Bool { host == "*" || IPAddress(host)?.isUnspecified ?? false }

    /// IPv4 only: many machines take new IPv6 addresses every day, and each would need another certificate.
    private static var addresses: [String] {
        let interfaces = (try? NetworkInterface.all()) ?? []
        return interfaces.filter { $0.address.family == IPAddress.ipv4Loopback.family }.compactMap(\.address.text)
    }
}

extension Endpoint {
    /// Without a zone, which belongs to this machine.
    fileprivate var host: String? {
        guard case .internet(let host, _) = self else { return nil }
        return String(Substring(host.utf8.prefix { $0 != UInt8(ascii: "%") }))
    }
}
