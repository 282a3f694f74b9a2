import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct InFlightTests {
    @Test func whatIsLeftComesInTheOrderOfItsBeginning() {
        var generator = SplitMix64(seed: 5)
        let uploads = (0..<500).map { PendingUpload(.bytes([]), label: "\($0)", destination: "d", kind: nil) }
        var inFlight = InFlight()
        var left: [String] = []
        for upload in uploads {
            inFlight.add(upload)
            left.append(upload.label)
            guard Bool.random(using: &generator) else { continue }
            let gone = left.remove(at: Int.random(in: 0..<left.count, using: &generator))
            #expect(inFlight.remove(uploads[Int(gone) ?? 0].id)?.upload.label == gone)
        }
        #expect(inFlight.takeAll().map(\.label) == left)
        #expect(inFlight.takeAll().isEmpty)
    }

    @Test func whatWaitsForItsReceiptIsNotForgotten() {
        let uploads = (0..<6).map { PendingUpload(.bytes([]), label: "\($0)", destination: "d", kind: nil) }
        var inFlight = InFlight()
        for upload in uploads { inFlight.add(upload) }
        inFlight.abandon(uploads[4].id, .changed)
        for number in [4, 1, 3] { inFlight.hold(UploadResult(id: uploads[number].id, code: .committed)) }
        let held = inFlight.takeHeld(2)
        #expect(held.map(\.upload.label) == ["4", "1"] && held.map(\.failure) == [.changed, nil])
        #expect(held.map(\.result.id) == [uploads[4].id, uploads[1].id])
        #expect(inFlight.remove(uploads[3].id) == nil)
        #expect(inFlight.takeAll().map(\.label) == ["0", "2", "3", "5"])
        #expect(inFlight.takeHeld(1).isEmpty)
    }

    @Test func theReasonOfWhatWasTakenBackIsKept() {
        var inFlight = InFlight()
        let upload = PendingUpload(.bytes([]), label: "x", destination: "x", kind: nil)
        inFlight.abandon(upload.id, .changed)
        #expect(inFlight.remove(upload.id) == nil)
        inFlight.add(upload)
        inFlight.abandon(upload.id, .changed)
        #expect(inFlight[upload.id] === upload)
        #expect(inFlight.remove(upload.id)?.failure == .changed)
        #expect(inFlight.remove(upload.id) == nil)
    }
}
