import Testing
import TransferHTTP
import TransferModel

/// RFC 9457.
@Suite struct ProblemDetailsTests {
    private static func text(_ problem: ProblemDetails) -> String { String(decoding: problem.bytes, as: UTF8.self) }

    @Test func allMembers() {
        let problem = ProblemDetails(
            type: "https://example.com/probs/out-of-credit", title: "You do not have enough credit.", status: 403,
            detail: "Your current balance is 30, but that costs 50.",
            extensions: [("balance", 30), ("accounts", .array(["/account/12345", "/account/67890"]))])
        #expect(
            Self.text(problem)
                == #"{"type":"https://example.com/probs/out-of-credit","title":"You do not have enough credit.","#
                + #""status":403,"detail":"Your current balance is 30, but that costs 50.","balance":30,"#
                + #""accounts":["/account/12345","/account/67890"]}"# + "\n")
    }

    @Test func faults() {
        #expect(
            Self.text(ProblemDetails(HTTPFault(414, "The path has \"too\" many bytes.")))
                == #"{"type":"about:blank","title":"URI Too Long","status":414,"#
                + #""detail":"The path has \"too\" many bytes."}"#
                + "\n")
        #expect(ProblemDetails(HTTPFault(599, "x")).title == "Error")
        #expect(ProblemDetails.contentType == "application/problem+json")
    }

    @Test func equality() {
        let problem = ProblemDetails(title: "a", status: 400)
        var other = problem
        #expect(problem == other)
        other.extensions = [("b", 1)]
        #expect(problem != other)
    }
}
