import Testing
import TransferClassic
import TransferModel

@Suite struct ClassicFramingTests {
    @Test func namesAndPorts() throws {
        let table = ClassicFraming.standard
        #expect(table.map(\.name) == ["header7", "sized", "tagged37", "jsonline", "text"])
        #expect(table.map(\.defaultPort) == [nil, 5288, nil, 8088, 1024])
        for framing in table { #expect(try ClassicFraming(name: framing.name).name == framing.name) }
        #expect(table.map { $0.conversation().hasDigests } == [true, false, true, false, false])
    }

    @Test func options() throws {
        func head(_ options: [(name: String, value: String)]) throws -> (total: UInt8, isAnswered: Bool) {
            let client = try #require(try ClassicFraming(name: "sized", options: options).client())
            return (try client.begin(ClassicUpload(number: 1, kind: .text, size: 1))[0], client.isAnswered)
        }
        #expect(try head([]) == (9, true))
        #expect(try head([("total", "content"), ("answer", "no")]) == (1, false))
        #expect(try head([("answer", "no"), ("total", "content"), ("answer", "yes")]) == (1, true))
    }

    @Test(
        arguments: [
            ("Sized", [], "There is no framing 'Sized'; there are header7, sized, tagged37, jsonline, text."),
            ("text", [("total", "whole")], "The framing text has no option 'total'."),
            ("sized", [("size", "1")], "The framing sized has no option 'size'."),
            ("sized", [("total", "all")], "The option 'total' of sized is whole or content."),
            ("sized", [("answer", "")], "The option 'answer' of sized is yes or no."),
        ] as [(String, [(String, String)], String)])
    func faults(_ name: String, _ options: [(String, String)], _ message: String) {
        let options = options.map { (name: $0.0, value: $0.1) }
        let fault = #expect(throws: ClassicFraming.Fault.self) { try ClassicFraming(name: name, options: options) }
        #expect(fault?.message == message)
    }

    /// The bytes that a session can show at once suffice for every step: with a full window, no step needs more.
    @Test(arguments: ClassicFraming.standard) func windows(_ framing: ClassicFraming) throws {
        let fronts: [[UInt8]] = [
            [0, 1, 0, 3, 0, 0xFF, 0xFF], Wire.header37("00131109", "00000064"), [UInt8]("{\"type\":\""),
            Wire.sized(.max, 1),
            [],
        ]
        for front in fronts {
            var conversation = framing.conversation()
            var bytes = front + [UInt8](repeating: 0x20, count: 2 * framing.window)
            for _ in 0..<5 {
                guard let progress = try? conversation.next(bytes.span.bytes.extracting(first: framing.window)) else {
                    break
                }
                #expect(progress.step != .needsMore)
                bytes.removeFirst(progress.consumed)
                bytes += [UInt8](repeating: 0x80, count: progress.consumed)
            }
        }
    }
}
