import Testing
import TransferHTTP
import TransferModel

@Suite struct TusUploadTests {
    /// Makes the offer of a server.
    private static func offer(_ extensions: String = "creation", _ more: [(String, String)] = []) throws -> TusOffer {
        try #require(TusOffer(answer(204, [("Tus-Version", "1.0.0"), ("Tus-Extension", extensions)] + more)))
    }

    private static func answer(_ status: Int, _ fields: [(String, String)] = []) -> ResponseHead {
        ResponseHead(status, fields: HTTPFields(fields.map { HTTPField(name: $0.0, value: Array($0.1.utf8)) }))
    }

    private static func piece(_ count: UInt64, isLast: Bool = false, _ checksum: String? = nil) -> TusUpload.Piece {
        TusUpload.Piece(count: count, isLast: isLast, checksum: checksum)
    }

    private static func field(_ head: RequestHead, _ name: String) -> String? {
        head.fields.values(name).first.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func take(_ upload: inout TusUpload, _ head: ResponseHead) -> UploadVerdict {
        upload.take(head) { .success(String(decoding: $0, as: UTF8.self)) }
    }

    /// An upload of 10 bytes that was created, without any content.
    private static func made() throws -> TusUpload {
        var upload = TusUpload(try offer(), at: "/up/", length: 10)
        _ = upload.create(metadata: nil, nil)
        #expect(take(&upload, answer(201, [("Location", "/up/1")])) == .goOn)
        #expect(upload.step == .send(from: 0))
        return upload
    }

    // MARK: Offers

    @Test func offersAreRead() throws {
        let plain = try Self.offer()
        #expect(!plain.takesContentAtOnce && !plain.takesUnknownLength && plain.checksum == nil && plain.maxSize == nil)
        let all = try Self.offer(
            "creation,creation-with-upload,creation-defer-length,checksum",
            [("Tus-Max-Size", "100"), ("Tus-Checksum-Algorithm", "md5,sha1,crc32")])
        #expect(all.takesContentAtOnce && all.takesUnknownLength && all.checksum == .sha1 && all.maxSize == 100)
        let better = try Self.offer("creation,checksum", [("Tus-Checksum-Algorithm", "sha1,sha256")])
        #expect(better.checksum == .sha256)
        #expect(try Self.offer("creation", [("Tus-Checksum-Algorithm", "sha1")]).checksum == nil)
        #expect(try Self.offer("creation,checksum", [("Tus-Checksum-Algorithm", "md5")]).checksum == nil)
        #expect(TusOffer(Self.answer(204, [("Allow", "PUT")])) == nil)
        #expect(TusOffer(Self.answer(204, [("Tus-Version", "0.2.2"), ("Tus-Extension", "creation")])) == nil)
        #expect(TusOffer(Self.answer(204, [("Tus-Version", "1.0.0"), ("Tus-Extension", "expiration")])) == nil)
        #expect(TusOffer(Self.answer(404, [("Tus-Version", "1.0.0"), ("Tus-Extension", "creation")])) == nil)
    }

    @Test func metadataIsAsTheOtherSideReadsIt() throws {
        let text = try #require(UploadMetadata.text([(key: "filename", value: "a,b ü"), (key: "name", value: "")]))
        let read = try UploadMetadata(text)
        #expect(try read.string("filename") == "a,b ü")
        #expect(UploadMetadata.text([(key: "filename", value: String(repeating: "x", count: 9_000))]) == nil)
    }

    // MARK: Without faults

    @Test func pieceByPiece() throws {
        var upload = TusUpload(try Self.offer(), at: "/up/", length: 10)
        #expect(upload.step == .create(takesContent: false))
        let create = upload.create(metadata: "filename YQ==", nil)
        #expect(create.method == .post && create.target == "/up/")
        #expect(Self.field(create, "upload-length") == "10" && Self.field(create, "tus-resumable") == "1.0.0")
        #expect(Self.field(create, "upload-metadata") == "filename YQ==")
        #expect(upload.step == .nothing)
        #expect(Self.take(&upload, Self.answer(201, [("Location", "/up/1")])) == .goOn)
        let patch = upload.send(Self.piece(6))
        #expect(patch.method == .patch && patch.target == "/up/1" && Self.field(patch, "upload-offset") == "0")
        #expect(Self.field(patch, "content-type") == "application/offset+octet-stream")
        #expect(Self.take(&upload, Self.answer(204, [("Upload-Offset", "6")])) == .goOn)
        #expect(upload.step == .send(from: 6))
        _ = upload.send(Self.piece(4, isLast: true))
        #expect(Self.take(&upload, Self.answer(204, [("Upload-Offset", "10")])) == .complete)
        #expect(upload.step == .nothing && !upload.isCompared)
    }

    @Test func nothingIsWholeWhenItIsMade() throws {
        var upload = TusUpload(try Self.offer("creation,creation-with-upload"), at: "/up/", length: 0)
        #expect(upload.step == .create(takesContent: false))
        _ = upload.create(metadata: nil, nil)
        #expect(Self.take(&upload, Self.answer(201, [("Location", "/up/1")])) == .complete)
    }

    @Test func withTheContentAtOnce() throws {
        let offer = try Self.offer(
            "creation,creation-with-upload,checksum", [("Tus-Checksum-Algorithm", "sha1")])
        #expect(TusUpload(offer, at: "/", length: TusUpload.pieceSize + 1).step == .create(takesContent: false))
        var upload = TusUpload(offer, at: "/up/", length: 10)
        #expect(upload.step == .create(takesContent: true))
        let head = upload.create(metadata: nil, Self.piece(10, isLast: true, "sha1 x"))
        #expect(Self.field(head, "upload-checksum") == "sha1 x")
        #expect(
            Self.take(&upload, Self.answer(201, [("Location", "/1"), ("Upload-Offset", "10")])) == .complete)
        #expect(upload.isCompared)
    }

    /// The server does not report an offset, so the client asks for it.
    @Test func whatIsNotSaidIsAskedFor() throws {
        var upload = TusUpload(try Self.offer("creation,creation-with-upload"), at: "/up/", length: 10)
        _ = upload.create(metadata: nil, Self.piece(10, isLast: true))
        #expect(Self.take(&upload, Self.answer(201, [("Location", "/1")])) == .goOn)
        #expect(upload.step == .ask)
        let ask = upload.ask()
        #expect(ask.method == .head && ask.target == "/1")
        #expect(Self.take(&upload, Self.answer(200, [("Upload-Offset", "4"), ("Upload-Length", "10")])) == .goOn)
        #expect(upload.step == .send(from: 4))
    }

    @Test(arguments: [true, false]) func withoutALength(_ endsEmpty: Bool) throws {
        var upload = TusUpload(try Self.offer("creation,creation-defer-length"), at: "/up/", length: nil)
        let create = upload.create(metadata: nil, nil)
        #expect(Self.field(create, "upload-defer-length") == "1" && Self.field(create, "upload-length") == nil)
        #expect(Self.take(&upload, Self.answer(201, [("Location", "/1")])) == .goOn)
        #expect(Self.field(upload.send(Self.piece(6)), "upload-length") == nil)
        #expect(Self.take(&upload, Self.answer(204, [("Upload-Offset", "6")])) == .goOn)
        let count: UInt64 = endsEmpty ? 0 : 4
        #expect(Self.field(upload.send(Self.piece(count, isLast: true)), "upload-length") == "\(6 + count)")
        // All content was sent, but the server may not know that this is the end.
        #expect(upload.lost(isAllSent: true) == nil)
        _ = upload.ask()
        #expect(Self.take(&upload, Self.answer(200, [("Upload-Offset", "\(6 + count)")])) == .goOn)
        #expect(Self.field(upload.send(Self.piece(0, isLast: true)), "upload-length") == "\(6 + count)")
        #expect(Self.take(&upload, Self.answer(204, [("Upload-Offset", "\(6 + count)")])) == .complete)
    }

    // MARK: Offsets

    @Test(arguments: [("5", false), ("7", true), ("9", true), ("11", false), ("", false), ("x", false), ("-1", false)])
    func offsetsAreChecked(_ offset: String, _ isGood: Bool) throws {
        var upload = try Self.made()
        _ = upload.send(Self.piece(6))
        _ = Self.take(&upload, Self.answer(204, [("Upload-Offset", "6")]))
        _ = upload.send(Self.piece(3))
        let verdict = Self.take(&upload, Self.answer(204, offset.isEmpty ? [] : [("Upload-Offset", offset)]))
        if isGood {
            let reached = try #require(UInt64(offset))
            #expect(verdict == .goOn && upload.step == .send(from: reached))
        } else {
            guard case .failed(let fault) = verdict else { return #expect(Bool(false), "\(verdict)") }
            #expect(fault.code == .malformedFrame)
            #expect(upload.step == .nothing)
        }
    }

    @Test func aServerThatTakesNothingIsWaitedFor() throws {
        var upload = try Self.made()
        _ = upload.send(Self.piece(6))
        guard case .wait = Self.take(&upload, Self.answer(204, [("Upload-Offset", "0")])) else {
            return #expect(Bool(false))
        }
        #expect(upload.step == .send(from: 0))
    }

    @Test func anotherLengthIsRefused() throws {
        var upload = try Self.made()
        _ = upload.send(Self.piece(6))
        _ = upload.lost(isAllSent: false)
        _ = upload.ask()
        guard case .failed = Self.take(&upload, Self.answer(200, [("Upload-Offset", "3"), ("Upload-Length", "9")]))
        else { return #expect(Bool(false)) }
    }

    // MARK: Faults

    @Test func aPlaceIsNeeded() throws {
        var upload = TusUpload(try Self.offer(), at: "/up/", length: 10)
        _ = upload.create(metadata: nil, nil)
        guard case .failed(let fault) = Self.take(&upload, Self.answer(201)) else { return #expect(Bool(false)) }
        #expect(fault.code == .malformedFrame)
        var other = TusUpload(try Self.offer(), at: "/up/", length: 10)
        _ = other.create(metadata: nil, nil)
        let refused = Failure(.unsuitable, "elsewhere")
        #expect(other.take(Self.answer(201, [("Location", "x")])) { _ in .failure(refused) } == .failed(refused))
    }

    /// Every status leads to an end or to a next step, at every step.
    @Test(arguments: 0...2) func everyStatus(_ place: Int) throws {
        for status in 200...599 {
            var upload = TusUpload(try Self.offer(), at: "/up/", length: 10)
            if place > 0 { upload = try Self.made() }
            switch place {
            case 0: _ = upload.create(metadata: nil, nil)
            case 1: _ = upload.send(Self.piece(6))
            default:
                _ = upload.send(Self.piece(6))
                _ = upload.lost(isAllSent: true)
                _ = upload.ask()
            }
            let verdict = Self.take(&upload, Self.answer(status, [("Upload-Offset", "6"), ("Location", "/up/1")]))
            switch verdict {
            case .complete, .skipped: #expect(Bool(false), "\(status)")
            case .goOn: #expect(status == (place == 0 ? 201 : 204) || status == 200 && place > 0)
            case .anew:
                #expect(place > 0 && [404, 410].contains(status) && upload.step == .create(takesContent: false))
            case .wait:
                #expect([408, 409, 423, 425, 429, 460, 500, 502, 503, 504].contains(status))
                #expect(upload.step == (place == 0 ? .create(takesContent: false) : .ask))
            case .failed(let fault): #expect(!fault.code.isSuccess && !fault.message.isEmpty)
            }
        }
    }

    @Test(arguments: [
        (413, ResultCode.uploadTooLarge), (401, .authenticationRequired), (403, .forbidden),
        (507, .insufficientStorage),
        (412, .pathConflict), (415, .unsuitable),
    ])
    func refusalsAreFinal(_ status: Int, _ code: ResultCode) throws {
        var upload = try Self.made()
        _ = upload.send(Self.piece(6))
        guard case .failed(let fault) = Self.take(&upload, Self.answer(status)) else { return #expect(Bool(false)) }
        #expect(fault.code == code && upload.step == .nothing)
    }

    @Test func theTimeToWaitIsTheServers() throws {
        var upload = try Self.made()
        _ = upload.send(Self.piece(6))
        guard case .wait(let fault, let told) = Self.take(&upload, Self.answer(503, [("Retry-After", "7")])) else {
            return #expect(Bool(false))
        }
        #expect(fault.code == .busy && told == .seconds(7))
    }

    @Test func whatIsForgottenIsSentAgainBoundedly() throws {
        var upload = try Self.made()
        for _ in 1..<TusUpload.mostBeginnings {
            _ = upload.send(Self.piece(6))
            guard case .anew = Self.take(&upload, Self.answer(404)) else { return #expect(Bool(false)) }
            #expect(upload.step == .create(takesContent: false) && upload.offset == 0)
            _ = upload.create(metadata: nil, nil)
            #expect(Self.take(&upload, Self.answer(201, [("Location", "/up/2")])) == .goOn)
        }
        _ = upload.send(Self.piece(6))
        guard case .failed(let fault) = Self.take(&upload, Self.answer(410)) else { return #expect(Bool(false)) }
        #expect(fault.code == .incomplete)
    }

    /// An upload of an earlier run, which this run knows nothing about.
    private static func earlier(_ checksums: Bool = true, wasCompared: Bool = true) throws -> TusUpload {
        let offer =
            checksums
            ? try offer("creation,checksum", [("Tus-Checksum-Algorithm", "sha256")]) : try offer()
        return TusUpload(offer, at: "/up/", goingOnAt: "/up/7?x", length: 10, isCompared: wasCompared)
    }

    @Test func whatAnEarlierRunHasSentIsAskedAbout() throws {
        var upload = try Self.earlier()
        #expect(upload.step == .ask && upload.ask().target == "/up/7?x")
        #expect(Self.take(&upload, Self.answer(200, [("Upload-Offset", "4"), ("Upload-Length", "10")])) == .goOn)
        #expect(upload.step == .send(from: 4) && upload.isCompared)
        #expect(try !Self.earlier(wasCompared: false).isCompared && !Self.earlier(false).isCompared)
    }

    @Test func anEarlierRunCanHaveSentAllOfIt() throws {
        var upload = try Self.earlier()
        _ = upload.ask()
        #expect(Self.take(&upload, Self.answer(200, [("Upload-Offset", "10"), ("Upload-Length", "10")])) == .complete)
    }

    /// The upload is forgotten, belongs to another client, or is another upload.
    @Test(arguments: [(404, 10), (410, 10), (403, 10), (200, 11)])
    func whatIsNotThereIsBegunAnew(_ status: Int, _ length: Int) throws {
        var upload = try Self.earlier()
        _ = upload.ask()
        let answer = Self.answer(status, [("Upload-Offset", "4"), ("Upload-Length", "\(length)")])
        guard case .anew(let sentence) = Self.take(&upload, answer) else { return #expect(Bool(false)) }
        #expect(sentence.contains("an earlier run") && upload.step == .create(takesContent: false))
    }

    /// A server may forget an upload as soon as it has all the content.
    @Test func whatMayBeThereIsNotSentAgain() throws {
        var upload = try Self.made()
        _ = upload.send(Self.piece(10, isLast: true))
        #expect(upload.lost(isAllSent: true) == nil)
        _ = upload.ask()
        guard case .failed(let fault) = Self.take(&upload, Self.answer(404)) else { return #expect(Bool(false)) }
        #expect(fault.code == .unacknowledged)
    }

    /// If the answer comes before all of a piece was sent, it cannot confirm more bytes than were sent.
    @Test(arguments: [(4 as UInt64, false), (5, false), (6, true), (10, true)])
    func whatHasNotLeftCannotBeThere(_ told: UInt64, _ isLie: Bool) throws {
        var upload = try Self.made()
        _ = upload.send(Self.piece(10, isLast: true))
        upload.cut(to: 5)
        let verdict = Self.take(&upload, Self.answer(204, [("Upload-Offset", "\(told)")]))
        if isLie {
            guard case .failed(let fault) = verdict else { return #expect(Bool(false)) }
            #expect(fault.code == .malformedFrame)
        } else {
            #expect(verdict == .goOn && upload.step == .send(from: told))
        }
    }

    @Test func whatHasNotLeftWithTheCreationCannotBeThere() throws {
        var upload = TusUpload(try Self.offer("creation,creation-with-upload"), at: "/up/", length: 10)
        _ = upload.create(metadata: nil, Self.piece(10, isLast: true))
        upload.cut(to: 0)
        let answer = Self.answer(201, [("Location", "/up/1"), ("Upload-Offset", "10")])
        guard case .failed = Self.take(&upload, answer) else { return #expect(Bool(false)) }
    }

    @Test func whatCannotBeThereIsSentAgain() throws {
        var upload = try Self.made()
        _ = upload.send(Self.piece(10, isLast: true))
        #expect(upload.lost(isAllSent: false) == nil)
        _ = upload.ask()
        guard case .anew = Self.take(&upload, Self.answer(404)) else { return #expect(Bool(false)) }
    }

    @Test func aCreationThatWasLost() throws {
        var bare = TusUpload(try Self.offer(), at: "/up/", length: 10)
        _ = bare.create(metadata: nil, nil)
        #expect(bare.lost(isAllSent: true) == nil && bare.step == .create(takesContent: false))
        let offer = try Self.offer("creation,creation-with-upload")
        var cut = TusUpload(offer, at: "/up/", length: 10)
        _ = cut.create(metadata: nil, Self.piece(10, isLast: true))
        #expect(cut.lost(isAllSent: false) == nil && cut.step == .create(takesContent: true))
        _ = cut.create(metadata: nil, Self.piece(10, isLast: true))
        #expect(cut.lost(isAllSent: true)?.code == .unacknowledged && cut.step == .nothing)
    }

    @Test func nobodyAsked() throws {
        var upload = TusUpload(try Self.offer(), at: "/up/", length: 10)
        guard case .failed = Self.take(&upload, Self.answer(201, [("Location", "/1")])) else {
            return #expect(Bool(false))
        }
    }

    /// Answers arrive in pieces: wherever an answer is cut, it is read alike, and an incomplete answer does not count.
    @Test func answersCutAtEveryByte() throws {
        let text = Array("HTTP/1.1 204 No Content\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 6\r\n\r\n".utf8)
        for cut in 0...text.count {
            var reader = ResponseReader()
            reader.expect(.patch)
            var (held, heads): ([UInt8], [ResponseHead]) = ([], [])
            for part in [text[..<cut], text[cut...]] {
                held += part
                while true {
                    let (step, consumed) = try held.withUnsafeBytes { (bytes) throws(HTTPFault) in
                        try reader.next(bytes)
                    }
                    held.removeFirst(consumed)
                    if case .head(let head, _) = step { heads.append(head) }
                    guard step != .needsMore, !held.isEmpty else { break }
                }
                if part.endIndex == cut, cut < text.count { #expect(heads.isEmpty) }
            }
            var upload = try Self.made()
            _ = upload.send(Self.piece(6))
            #expect(heads.count == 1)
            #expect(Self.take(&upload, try #require(heads.first)) == .goOn && upload.offset == 6)
        }
    }
}
