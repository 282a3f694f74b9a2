import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

/// The client shows a server's text, and the text controls nothing: no terminal, no line of a log, no JSON.
@Suite(.ownThreads) struct HostileServerTests {
    private static let hostile = "a\n\u{1B}[2Jb\u{9B}c\r\u{7F}\u{202E}d\u{2066}e\u{2028}f"

    enum Words: CaseIterable {
        case message, storedPath, goodbye, refusal
    }

    @Test(arguments: Words.allCases, [[], ["--json"]]) func nothingSteers(words: Words, flags: [String]) throws {
        let server = try FakeServer()
        let push = try Program(
            ["push", "--plaintext", "--text", "x", "--to", server.address, "--retry-for", "1s"] + flags)
        let connection = try server.accept()
        try Self.answer(words, connection)
        server.close()
        connection.close()
        let finished = try Finished(push)
        for text in [finished.output, finished.errors] {
            let bad = text.unicodeScalars.filter { scalar in
                scalar != "\n" && (scalar.properties.generalCategory == .control || scalar.properties.isBidiControl)
                    || scalar == "\u{2028}"
            }
            #expect(bad.isEmpty, "\(text.debugDescription)")
        }
        // The server's text appears, on one line.
        let shown = (finished.output + finished.errors).split(separator: "\n")
        if words != .goodbye { #expect(shown.contains { $0.contains("[2Jb") && $0.contains("f") }, "\(shown)") }
        #expect(!shown.contains { $0.hasPrefix("\u{1B}") || $0.hasPrefix("[2J") })
    }

    private static func answer(_ words: Words, _ connection: PeerConnection) throws {
        if words == .refusal {
            try connection.send(.result(UploadResult(id: .none, code: .forbidden, message: hostile)))
            return
        }
        try connection.send(.welcome(welcome))
        guard let (id, end) = try connection.uploads(1).first else { return }
        let isStored = words == .storedPath
        if words == .goodbye {
            try connection.send(.goodbye(Goodbye(.shuttingDown, hostile)))
            return
        }
        try connection.send(
            .result(
                UploadResult(
                    id: id, code: isStored ? .committed : .storageFailed, isDurable: isStored, size: end.size,
                    digest: isStored ? end.digest : nil, storedPath: isStored ? hostile : nil, message: hostile)))
        _ = try? connection.next { if case .goodbye = $0 { true } else { nil } }
    }

    private static var welcome: Welcome {
        Welcome(
            uploadSize: 1 << 40, heartbeat: 5000, silence: 20_000, agent: hostile, serverName: hostile, keeps: 1)
    }
}
