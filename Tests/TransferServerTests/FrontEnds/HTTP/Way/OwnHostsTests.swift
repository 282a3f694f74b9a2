import Testing
import TransferHTTP

@testable import TransferServer

/// Other sites' names that lead to this server.
@Suite struct OwnHostsTests {
    private static let hosts = OwnHosts(isAsked: true, names: ["localhost", "nas", "nas.local"]) {
        $0 == "shown.example"
    }

    private func isMisdirected(
        _ host: String?, _ mark: String = "Origin", told: String? = nil, _ hosts: OwnHosts = hosts
    ) -> Bool {
        var fields = HTTPFields()
        if let host { fields.append("Host", host) }
        fields.append(mark, "x")
        let origin = PeerOrigin(name: "", network: nil, isLocal: true)
        return hosts.isMisdirected(
            RequestHead(.get, "/", fields: fields), HTTPWay(origin: origin, host: told.map { Array($0.utf8) }))
    }

    @Test(arguments: [
        "localhost", "LOCALHOST:5288", "nas", "nas.local.", "nas:80", "192.0.2.1", "192.0.2.1:80", "[::1]",
        "[2001:db8::1]:80",
        "shown.example", "shown.example:443",
    ])
    func ownOnes(_ host: String) {
        #expect(!isMisdirected(host))
    }

    @Test(arguments: [
        "evil.example", "evil.example:5288", "localhost.evil.example", "nas.evil", "1.2.3.4.evil", "0x7f.1", "nas..",
        "%6eas",
    ])
    func foreignOnes(_ host: String) {
        #expect(isMisdirected(host))
        for mark in ["Sec-Fetch-Site", "Cookie", "Referer", "Accept-Language"] { #expect(isMisdirected(host, mark)) }
        #expect(!isMisdirected(host, "Accept"), "no browser")
        let closed = OwnHosts(isAsked: false, names: []) { _ in false }
        #expect(!isMisdirected(host, "Origin", closed))
    }

    @Test func whatAProxyTellsCounts() {
        #expect(isMisdirected("localhost", told: "evil.example") && !isMisdirected("evil.example", told: "nas"))
        #expect(!isMisdirected(nil))
    }
}
