import Testing

@testable import TransferModel

@Suite struct DoubleDecimalsTests {
    @Test(arguments: [
        (0, 2, "0.00"), (0.004, 2, "0.00"), (0.005, 2, "0.01"), (1.5, 2, "1.50"), (59.999, 2, "60.00"),
        (12.3456, 3, "12.346"), (7, 1, "7.0"), (-1.25, 2, "-1.25"), (.infinity, 2, "inf"), (1e300, 1, "1e+300"),
    ])
    func shown(_ number: Double, _ decimals: Int, _ text: String) {
        #expect(number.shown(decimals: decimals) == text)
    }
}
