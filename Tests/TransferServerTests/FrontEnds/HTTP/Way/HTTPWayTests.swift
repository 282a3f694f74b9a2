import Testing
import TransferHTTP
import TransferIO

@testable import TransferServer

/// The client's address, scheme and host, derived from the fields of proxies.
@Suite struct HTTPWayTests {
    private static let proxy = PeerOrigin(name: "proxy", network: nil, isLocal: true, isProxy: true)

    private func way(_ fields: [(String, String)], trusted: [String] = ["10.0.0.0/8"]) throws -> HTTPWay {
        var way = HTTPWay(origin: Self.proxy, isSecure: nil)
        try way.believe(
            HTTPFields(fields.map { HTTPField(name: $0, value: Array($1.utf8)) }),
            trusted.compactMap { TrustedProxy($0) }
        ) { PeerOrigin(name: $0.text ?? "", network: nil, isLocal: false) }
        return way
    }

    @Test(
        arguments: [
            ([("X-Forwarded-For", "203.0.113.9")], "203.0.113.9"),
            // Addresses before the last untrusted one were written by the client itself.
            ([("X-Forwarded-For", "1.1.1.1, 203.0.113.9")], "203.0.113.9"),
            ([("X-Forwarded-For", "nonsense, 203.0.113.9, 10.1.1.1")], "203.0.113.9"),
            (
                [("X-Forwarded-For", "1.1.1.1, 10.2.2.2, 203.0.113.9"), ("X-Forwarded-For", "10.1.1.1, 10.0.0.1")],
                "203.0.113.9"
            ),
            ([("X-Forwarded-For", "10.1.1.1, 10.0.0.1")], "10.1.1.1"),
            ([("Forwarded", "for=1.1.1.1, for=\"[2001:db8::1]:80\";proto=https")], "2001:db8::1"),
            ([("Forwarded", "for=203.0.113.9, for=10.0.0.1")], "203.0.113.9"),
            ([("Forwarded", "for=unknown")], "proxy"), ([("Forwarded", "for=203.0.113.9, for=_hidden")], "proxy"),
            ([("X-Forwarded-Proto", "https")], "proxy"), ([], "proxy"),
            ([("Forwarded", "for=203.0.113.9"), ("X-Forwarded-For", "203.0.113.9")], "203.0.113.9"),
        ] as [([(String, String)], String)])
    func whoTheClientIs(_ fields: [(String, String)], _ name: String) throws {
        #expect(try way(fields).origin.name == name)
    }

    @Test(
        arguments: [
            [("Forwarded", "for=203.0.113.9"), ("X-Forwarded-For", "203.0.113.8")],
            [("Forwarded", "proto=https"), ("X-Forwarded-For", "203.0.113.8")],
            [
                ("Forwarded", "for=203.0.113.8;proto=http"), ("X-Forwarded-For", "203.0.113.8"),
                ("X-Forwarded-Proto", "https"),
            ],
            [("Forwarded", "for=203.0.113.8;host=a"), ("X-Forwarded-For", "203.0.113.8"), ("X-Forwarded-Host", "b")],
            [("X-Forwarded-For", "1.2.3")], [("X-Forwarded-For", "name")], [("Forwarded", "for=")],
        ] as [[(String, String)]])
    func whatIsRefused(_ fields: [(String, String)]) {
        let fault = #expect(throws: HTTPFault.self) { try way(fields) }
        #expect(fault?.status == 400)
    }

    /// Each proxy appends to the lists, or overwrites them.
    @Test func theSchemeIsThatOfTheClient() throws {
        let listed = try way([
            ("X-Forwarded-For", "203.0.113.9, 10.0.0.1"), ("X-Forwarded-Proto", "https, http"),
            ("X-Forwarded-Host", "nas.example, inside"),
        ])
        #expect(listed.isSecure == true && listed.host == Array("nas.example".utf8))
        let written = try way([("X-Forwarded-For", "1.1.1.1, 203.0.113.9"), ("X-Forwarded-Proto", "https")])
        #expect(written.isSecure == true && written.host == nil)
    }

    @Test(
        arguments: [
            ("https://nas", "nas", nil, nil, true), ("http://nas", "nas", nil, nil, true),
            ("https://NAS:443", "nas", nil, nil, true),
            ("http://nas:443", "nas", nil, nil, false), ("https://nas", "nas:443", nil, nil, true),
            ("http://nas", "nas:80", nil, nil, true), ("http://nas", "nas", true, nil, false),
            ("https://nas", "nas", false, nil, false),
            ("https://nas:5288", "nas:5288", true, nil, true), ("https://evil", "nas", nil, nil, false),
            ("null", "nas", nil, nil, false),
            ("https://nas.example", "127.0.0.1:80", true, "nas.example", true),
            ("https://127.0.0.1:80", "127.0.0.1:80", true, "nas.example", false),
            ("https://nas.evil", "nas", nil, nil, false), ("", "nas", nil, nil, false),
            ("https://", "nas", nil, nil, false),
        ] as [(String, String, Bool?, String?, Bool)])
    func whoseAPageIs(_ origin: String, _ host: String, _ isSecure: Bool?, _ told: String?, _ isOwn: Bool) {
        let way = HTTPWay(origin: Self.proxy, isSecure: isSecure, host: told.map { Array($0.utf8) })
        let head = RequestHead(.put, "/", fields: HTTPFields([HTTPField(name: "Host", value: Array(host.utf8))]))
        #expect(way.isOwn(Array(origin.utf8), head) == isOwn)
    }
}
