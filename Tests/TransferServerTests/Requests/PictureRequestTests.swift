import Testing
import TransferAccess
import TransferKeys
import TransferModel
import TransferPictures
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferGallery
@testable import TransferServer

extension ServerTests {
    /// `list` with the flag for pictures. Other tests decode real pictures.
    @Suite(.overEachStore) struct PictureRequestTests {
        private static let refused = PictureReport(refusal: .tooLarge)

        private func serving(
            _ foundations: ServerFoundations, _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            try await TransferServerTests.serving({ $0.thumbnails = .demand }, on: foundations) { server in
                #expect(server.put([1, 2, 3], "a.jpg"))
                try body(server)
            }
        }

        private func question(_ id: UInt32, _ path: String = "a.jpg") -> Request {
            .list(ListRequest(id: id, path: path, isAboutItself: true, wantsPicture: true))
        }

        /// What is known already is answered without a decoder: the second question needs none.
        @Test func theAnswerSaysWhatTheDecoderFound() async throws {
            var summary = PictureSummary(format: .jpeg, width: 40, height: 30)
            summary.isDecoded = false
            let report = PictureReport(summary: summary, refusal: .damaged)
            let decoders = try FakeDecoders(report)
            try await serving(decoders.foundations(waits: true)) { server in
                let client = try server.greetedClient()
                for id in UInt32(1)...2 {
                    client.ask(question(id))
                    if id == 1 { try decoders.letOneGo() }
                    let (entries, outcome) = try client.listed()
                    #expect(entries.map(\.name) == ["a.jpg"] && entries.map(\.size) == [3])
                    #expect(outcome.code == .completed && outcome.id == id && outcome.count == 1)
                    #expect(outcome.picture == report.description.text)
                }
                // Without the flag nothing is said about the picture.
                #expect(try client.list("a.jpg", id: 3, itself: true).outcome.picture == "")
            }
        }

        @Test func answersComeInOrder() async throws {
            let decoders = try FakeDecoders(Self.refused)
            try await serving(decoders.foundations(waits: true)) { server in
                let client = try server.greetedClient()
                client.ask(question(1))
                client.ask(.list(ListRequest(id: 2, path: "a.jpg", isAboutItself: true)))
                try decoders.letOneGo()
                #expect(try client.listed().outcome.picture == #"{"refusal":"tooLarge"}"#)
                #expect(try client.listed().outcome.id == 2)
            }
        }

        /// A client that waits can still end its request, and a stopping server does not wait for the decoder.
        @Test func waitingEndsEarly() async throws {
            let decoders = try FakeDecoders(Self.refused)
            try await serving(decoders.foundations(waits: true)) { server in
                let client = try server.greetedClient()
                client.ask(question(1))
                let waiting = decoders.awaitOne()
                client.send(.cancel(1))
                #expect(try client.listed().outcome.code == .aborted)
                withExtendedLifetime(waiting) {}
            }
        }

        @Test func aStoppingServerDoesNotWait() async throws {
            let decoders = try FakeDecoders(Self.refused)
            try await serving(decoders.foundations(waits: true)) { server in
                let client = try server.greetedClient()
                client.ask(question(1))
                let waiting = decoders.awaitOne()
                server.beginShutDown()
                #expect(try client.listed().outcome.code == .shuttingDown)
                withExtendedLifetime(waiting) {}
            }
        }

        /// The rights and the folder of a client are those of the moment in which it is answered.
        @Test(arguments: [
            (AccessRights.writeOnly, nil as String?, ResultCode.forbidden), (.noRemove, "mine", .notFound),
        ])
        func rightsThatAreLostWhileItWaitsCount(rights: AccessRights, folder: String?, code: ResultCode) async throws {
            let decoders = try FakeDecoders(Self.refused)
            let directory = try TemporaryDirectory()
            let lists = try StoreKind.current.access(in: directory)
            let pair = KeyPair()
            try lists.admit(AuthorizedKey(pair.key, name: "laptop"))
            let configure = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
                configuration.thumbnails = .demand
            }
            let foundations = decoders.foundations(waits: true)
            try await TransferServerTests.serving(configure, in: directory, on: foundations) { server in
                #expect(server.put([1, 2, 3], "a.jpg"))
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                client.ask(question(1))
                let waiting = decoders.awaitOne()
                var options = AccessOptions()
                options.rights = rights
                options.folder = try folder.map { try RelativePath($0) }
                try lists.replace(AuthorizedKey(pair.key, name: "laptop", options: options))
                try writeAll(Array("go\n".utf8), to: waiting.number)
                #expect(try client.listed().outcome.code == code)
            }
        }

        @Test func onlyPicturesOfServersWithDecodersHaveAnAnswer() async throws {
            try await serving(try FakeDecoders(Self.refused).foundations()) { server in
                let client = try server.greetedClient()
                client.ask(question(1, ""))
                #expect(try client.listed().outcome.code == .wrongForm)
                client.ask(question(2, "missing.jpg"))
                #expect(try client.listed().outcome.code == .notFound)
            }
            try await TransferServerTests.serving({ $0.thumbnails = .off }) { server in
                #expect(server.put([1, 2, 3], "a.jpg"))
                let client = try server.greetedClient()
                client.ask(question(1))
                #expect(try client.listed().outcome.code == .wrongForm)
            }
        }
    }
}
