import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@Suite(.ownThreads) struct FailFastTests {
    @Test func theFirstFailureEndsThePush() throws {
        let peer = try FakeServer()
        let push = try Program(
            [
                "push", "--plaintext", "--to", peer.address, photo, "--text", "a", "--fail-fast", "--failed-to",
                "/dev/stdout",
            ])
        let connection = try peer.accept()
        try connection.send(.welcome(Welcome()))
        let (id, _) = try #require(try connection.uploads(2).first { $0.end.size > 1 })
        try connection.send(.result(UploadResult(id: id, code: .quotaExceeded, message: "It is full.")))
        let finished = try Finished(push)
        #expect(finished.end == .exited(1))
        #expect(finished.errors.hasPrefix("quotaExceeded  \(photo): It is full. "), "\(finished.errors)")
        let sentence = "The push was stopped at the first failure. Nothing is acknowledged; to go on: "
        #expect(finished.errors.contains("\ntransfer: \(sentence)"), "\(finished.errors)")
        #expect(finished.errors.contains("2 failed (1 quotaExceeded, 1 cancelled)"), "\(finished.errors)")
        let entry = photo.split(separator: "/").dropLast().joined(separator: "/")
        #expect(finished.output == "/\(entry)/./demo.png\n")
    }

    @Test func withoutFailuresNothingEnds() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "--text", "a", "--fail-fast"])
        #expect(push.end == .exited(0) && server.visibleFiles.count == 2)
    }
}
