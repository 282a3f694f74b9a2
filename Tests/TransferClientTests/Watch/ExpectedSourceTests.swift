import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// Uploads that name the expected identity of their file.
@Suite struct ExpectedSourceTests {
    /// A file that was rewritten since its last look may be incomplete, so it is not sent.
    @Test(arguments: [true, false]) func anotherFileIsNotSent(_ isAnother: Bool) async throws {
        try await withServer { server in
            let directory = try TemporaryDirectory()
            let path = directory.path("a")
            try Files.write(path, "x")
            var upload = Upload.path(path, name: "a")
            upload.expected = SourcePlace(named: path, followsLink: false).identity
            if isAnother { try Files.write(path, "another") }
            let client = try TransferClient(server: server.address, configuration: .patient)
            var results: [ResultCode] = []
            for try await event in client.push([upload]) {
                if case .finished(let report) = event { results.append(report.result) }
            }
            #expect(results == [isAnother ? .sourceChanged : .committed])
            #expect(server.tree == (isAnother ? [] : ["a"]))
        }
    }

    /// The server has the expected content, but the source has changed, so "already stored" would be wrong.
    @Test func whatTheServerKnowsIsNoAnswer() async throws {
        try await withServer { server in
            let directory = try TemporaryDirectory()
            let path = directory.path("a")
            try Files.write(path, "x")
            let client = try TransferClient(server: server.address, configuration: .patient)
            var (upload, results) = (Upload.path(path, name: "a"), [ResultCode]())
            for expected in [nil, SourcePlace(named: path, followsLink: false).identity, look(9)] {
                upload.expected = expected
                for try await event in client.push([upload]) {
                    if case .finished(let report) = event { results.append(report.result) }
                }
            }
            #expect(results == [.committed, .alreadyStored, .sourceChanged])
        }
    }
}
