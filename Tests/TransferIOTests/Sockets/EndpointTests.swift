import Testing
import TransferIO

@Suite struct EndpointTests {
    @Test(
        arguments: [
            ("host:1", .internet(host: "host", port: 1)),
            ("host", .internet(host: "host", port: 5288)),
            ("10.0.0.1:65535", .internet(host: "10.0.0.1", port: 65535)),
            ("host:0", .internet(host: "host", port: 0)),
            ("host:0080", .internet(host: "host", port: 80)),
            (":80", .internet(host: "localhost", port: 80)),
            ("[::1]:1", .internet(host: "::1", port: 1)),
            ("[::1]", .internet(host: "::1", port: 5288)),
            ("::1", .internet(host: "::1", port: 5288)),
            ("::", .internet(host: "::", port: 5288)),
            ("fe80::1%eth0", .internet(host: "fe80::1%eth0", port: 5288)),
            ("[fe80::1%eth0]:7", .internet(host: "fe80::1%eth0", port: 7)),
            ("*:1", .internet(host: "*", port: 1)),
            ("unix:/x", .unix(path: "/x")),
            ("unix:relative", .unix(path: "relative")),
            ("unix:/with:colon", .unix(path: "/with:colon")),
        ] as [(String, Endpoint)]) func readsWhatPeopleWrite(text: String, endpoint: Endpoint)
    {
        #expect(Endpoint(text, defaultPort: 5288) == endpoint)
    }

    @Test(arguments: [
        "", ":", "host:", "host:x", "host:65536", "host:-1", "host:+1", "host: 1", "host:1 ", "host:１",
        "[::1", "[::1]1", "[::1]:", "[]", "[]:1", "unix:", "a:b:c", "[a:b]:1", "[[a]:1", "[[]", "fe80::1%a]", "a]",
        "a[", "ho\0st:1", "unix:/\0",
    ]) func refusesWhatIsNone(text: String) {
        #expect(Endpoint(text, defaultPort: 5288) == nil)
    }

    @Test func aUnixPathFitsTheKernelsAddress() {
        let longest = String(repeating: "x", count: Endpoint.longestUnixPath - 1)
        #expect(Endpoint("unix:" + longest, defaultPort: 1) == .unix(path: longest))
        #expect(Endpoint("unix:x" + longest, defaultPort: 1) == nil)
        // The limit counts bytes.
        #expect(Endpoint("unix:" + String(repeating: "é", count: 54), defaultPort: 1) == nil)
    }

    @Test(
        arguments: [
            (.internet(host: "host", port: 1), "host:1"),
            (.internet(host: "::1", port: 80), "[::1]:80"),
            (.internet(host: "unix", port: 1), "[unix]:1"),
            // Each of these signs forms one character with the text behind it, or with the text before it.
            (.internet(host: "\u{605}", port: 1), "\u{605}:1"),
            (.unix(path: "\u{301}"), "unix:\u{301}"),
            (.internet(host: "\u{301}a", port: 1), "\u{301}a:1"),
            (.unix(path: "/x"), "unix:/x"),
        ] as [(Endpoint, String)]) func readsItsOwnDescription(endpoint: Endpoint, text: String)
    {
        #expect(endpoint.description == text)
        #expect(Endpoint(text, defaultPort: 5288) == endpoint)
    }
}
